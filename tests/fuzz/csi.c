/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"
#include "serve/csi/messages-private.h"

/* What was read is written and read again: it has the same fields. */
static void
check_both_ways(Strings *strings, const CsiMessage *read)
{
    CsiMessage written, again, rewritten;
    CsiMethod method = read->request.method;

    csi_message_write_request(&written, &read->request);
    g_autofree uint8_t *packed = g_malloc(protobuf_c_message_get_packed_size(written.message) + 1);
    size_t n = protobuf_c_message_pack(written.message, packed);
    csi_message_read_request(&again, strings, method, packed, n);
    if (again.fault != NULL)
        fuzz_fail("%s", again.fault);
    csi_message_write_request(&rewritten, &again.request);
    json_auto_t *a = csi_message_json(written.message);
    json_auto_t *b = csi_message_json(rewritten.message);
    if (!json_equal(a, b))
        fuzz_fail("a message that was read twice is another one");
    csi_message_clear(&rewritten);
    csi_message_clear(&again);
    csi_message_clear(&written);
}

void
take_csi(const char *text, gsize length)
{
    CsiMethod method = (CsiMethod)((unsigned char)text[0] % CSI_N_METHODS);
    const uint8_t *bytes = (const uint8_t *)text + 1;
    Strings *strings = strings_new();
    CsiMessage request, response;

    if (length > 0) {
        csi_message_read_request(&request, strings, method, bytes, length - 1);
        if (request.fault == NULL)
            check_both_ways(strings, &request);
        csi_message_clear(&request);
        csi_message_read_response(&response, strings, method, bytes, length - 1, 0);
        csi_message_clear(&response);
    }
    strings_free(strings);
}

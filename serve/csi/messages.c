/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSI messages: protobuf to CsiRequest and CsiResponse and back, by the table in message-fields.c.
 * One walk serves both ways, so every written message can be read. Sizes are limited where the
 * specification has limits, more generously for maps, since real sidecars send more. Of secrets
 * only their presence is kept. Memory of a message belongs to the message and is freed with it;
 * texts are interned. */
#include "messages-private.h"

#include <string.h>

#include <serve/csi/csi.pb-c.h>

/* The CSI specification, Size Limits: strings have at most 128 bytes, node ids 256, maps 4 KiB; a
 * driver may refuse more. Names beyond their own limit are the driver's to refuse (CSI-2). */
#define TEXT_BYTES_MAX 4096 /* a path: PATH_MAX */
#define MAP_BYTES_MAX 65536 /* real sidecars send more than 4 KiB */
#define ITEMS_MAX 10000     /* of a list or map */

/* ---- Memory ---- */

typedef struct {
    void *pointer;
    GDestroyNotify free;
} Owned;

/* The way of one message: to the wire, or from it. */
typedef struct {
    CsiMessage *of;
    gboolean to_wire;
    Strings *strings;          /* from the wire */
    const CsiRequest *request; /* to the wire: what the answer repeats */
    int64_t epoch;
} MessagesWalk;

static void *
own(MessagesWalk *self, void *pointer, GDestroyNotify free)
{
    const Owned owned = {pointer, free};

    if (pointer != NULL)
        g_array_append_val(self->of->owned, owned);
    return pointer;
}

/* Returns: (borrowed): room for @n items; NULL if there are none */
static void *
room(MessagesWalk *self, size_t n, size_t size)
{
    return own(self, n == 0 ? NULL : g_malloc0_n(n, size), g_free);
}

/* ---- Parts of a message ---- */

/* A member of a message's struct, or of one of ours. */
#define MEMBER(Type, base, offset) (*(Type *)(void *)((char *)(base) + (offset)))

static void
messages_refuse(MessagesWalk *self, const char *field, const char *why)
{
    if (self->of->fault == NULL)
        self->of->fault = g_strdup_printf("%s %s", field, why);
}

/* Returns: (borrowed): NULL: the field is not set */
static ProtobufCMessage *
part_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    gboolean is_other =
        (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
        MEMBER(const int, (char *)message, field->quantifier_offset) != (int)field->id;

    return is_other ? NULL : MEMBER(ProtobufCMessage *const, (char *)message, field->offset);
}

/* Returns: (borrowed): empty, of the type of the field */
static ProtobufCMessage *
new_message(MessagesWalk *self, const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    ProtobufCMessage *message = room(self, 1, type->sizeof_message);

    protobuf_c_message_init(type, message);
    return message;
}

/* Returns: (borrowed): what is there on the way from the wire, which may be NULL; a new one on the
 * way to it */
static ProtobufCMessage *
part(MessagesWalk *self, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (!self->to_wire)
        return part_of(message, field);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        MEMBER(int, message, field->quantifier_offset) = (int)field->id;
    return MEMBER(ProtobufCMessage *, message, field->offset) = new_message(self, field);
}

/* The parts of a repeated field, or the only part. Encoding: makes @n parts. Returns: (borrowed) */
static ProtobufCMessage **
parts(MessagesWalk *self,
      ProtobufCMessage *message,
      const ProtobufCFieldDescriptor *field,
      size_t *n)
{
    gboolean is_many = field->label == PROTOBUF_C_LABEL_REPEATED;
    ProtobufCMessage **only = &MEMBER(ProtobufCMessage *, message, field->offset);

    if (!self->to_wire) {
        *n = is_many ? MEMBER(size_t, message, field->quantifier_offset) : *only != NULL;
        return is_many ? MEMBER(ProtobufCMessage **, message, field->offset) : only;
    }
    if (!is_many)
        *n = MIN(*n, 1);
    ProtobufCMessage **items = is_many ? room(self, *n, sizeof *items) : only;
    for (size_t i = 0; i < *n; i++)
        items[i] = new_message(self, field);
    if (is_many) {
        MEMBER(ProtobufCMessage **, message, field->offset) = items;
        MEMBER(size_t, message, field->quantifier_offset) = *n;
    }
    return items;
}

/* ---- Values ---- */

static void walk_message(MessagesWalk *self, ProtobufCMessage *message, CsiPlace place, void *base);

static const char *
messages_read_text(MessagesWalk *self, const char *field, const char *text, size_t bytes_max)
{
    if (strlen(text) > bytes_max)
        messages_refuse(self, field, "is too long");
    else if (!g_utf8_validate(text, -1, NULL))
        messages_refuse(self, field, "is not UTF-8");
    else
        return strings_intern(self->strings, text);
    return NULL;
}

static void
walk_text(MessagesWalk *self, const char *field, char **wire, const char **at)
{
    if (self->to_wire && *at != NULL)
        *wire = (char *)*at; /* the string of a message is not const, and is never changed */
    else if (!self->to_wire && (*wire)[0] != '\0')
        *at = messages_read_text(self, field, *wire, TEXT_BYTES_MAX);
}

static void
walk_texts(MessagesWalk *self, const char *field, char ***wire, size_t *n, const StringList **at)
{
    if (self->to_wire) {
        *n = *at == NULL ? 0 : (*at)->n_items;
        *wire = room(self, *n, sizeof **wire); /* the list may end before the message is sent */
        for (size_t i = 0; i < *n; i++)
            (*wire)[i] = (char *)(*at)->items[i];
        return;
    }
    if (*n > ITEMS_MAX)
        messages_refuse(self, field, "has too many items");
    if (*n == 0 || *n > ITEMS_MAX)
        return;
    const char **items = room(self, *n, sizeof *items);
    for (size_t i = 0; i < *n; i++)
        items[i] = messages_read_text(self, field, (*wire)[i], TEXT_BYTES_MAX);
    if (self->of->fault == NULL)
        *at = own(self, string_list_new(items, (unsigned)*n), (GDestroyNotify)string_list_unref);
}

/* The entries of all maps look alike. */
typedef struct {
    ProtobufCMessage base;
    char *key, *value;
} MapEntry;

static void
walk_map(MessagesWalk *self,
         ProtobufCMessage *message,
         const ProtobufCFieldDescriptor *field,
         const StringMap **at)
{
    size_t n = *at == NULL ? 0 : (*at)->n_pairs, bytes = 0;
    MapEntry **entries = (MapEntry **)(void *)parts(self, message, field, &n);

    for (size_t i = 0; self->to_wire && i < n; i++) {
        entries[i]->key = (char *)(*at)->pairs[i].key;
        entries[i]->value = (char *)(*at)->pairs[i].value;
    }
    if (self->to_wire || n == 0)
        return;
    for (size_t i = 0; i < n && bytes <= MAP_BYTES_MAX; i++)
        bytes += strlen(entries[i]->key) + strlen(entries[i]->value);
    if (n > ITEMS_MAX || bytes > MAP_BYTES_MAX) {
        messages_refuse(self, field->name, "is too large");
        return;
    }
    StringPair *pairs = room(self, n, sizeof *pairs);
    for (size_t i = 0; i < n; i++)
        pairs[i] =
            (StringPair){messages_read_text(self, field->name, entries[i]->key, MAP_BYTES_MAX),
                         messages_read_text(self, field->name, entries[i]->value, MAP_BYTES_MAX)};
    if (self->of->fault == NULL)
        *at = own(self, string_map_new(pairs, (unsigned)n), (GDestroyNotify)string_map_unref);
}

/* Messages with one field each: a map. */
static void
walk_maps(MessagesWalk *self,
          ProtobufCMessage *message,
          const ProtobufCFieldDescriptor *field,
          const StringMap ***at,
          unsigned *n)
{
    size_t n_parts = *n;
    ProtobufCMessage **topologies = parts(self, message, field, &n_parts);

    if (!self->to_wire && n_parts > ITEMS_MAX) {
        messages_refuse(self, field->name, "has too many items");
        return;
    }
    if (!self->to_wire && n_parts > 0) {
        *at = room(self, n_parts, sizeof **at);
        *n = (unsigned)n_parts;
    }
    for (size_t i = 0; i < n_parts; i++)
        walk_map(self, topologies[i], topologies[i]->descriptor->fields, &(*at)[i]);
}

/* Messages that are a struct each. Returns: their number */
static unsigned
walk_structs(MessagesWalk *self,
             ProtobufCMessage *message,
             const ProtobufCFieldDescriptor *field,
             CsiPlace place,
             size_t size,
             void **at,
             unsigned *n)
{
    size_t n_parts = *n;
    ProtobufCMessage **items = parts(self, message, field, &n_parts);

    if (!self->to_wire && place != ENTRY && n_parts > ITEMS_MAX) {
        messages_refuse(self, field->name, "has too many items");
        return 0;
    }
    if (!self->to_wire && n_parts > 0) {
        *at = room(self, n_parts, size);
        *n = (unsigned)n_parts;
    }
    for (size_t i = 0; i < n_parts; i++)
        walk_message(self, items[i], place, (char *)*at + i * size);
    return (unsigned)n_parts;
}

static void
walk_capabilities(MessagesWalk *self,
                  ProtobufCMessage *message,
                  const ProtobufCFieldDescriptor *field,
                  void **at,
                  unsigned *n)
{
    unsigned n_parts = walk_structs(self, message, field, CAPABILITY, sizeof(CsiCapability), at, n);
    size_t n_wire = n_parts;
    ProtobufCMessage **items = self->to_wire ? NULL : parts(self, message, field, &n_wire);

    for (unsigned i = 0; i < n_parts && items != NULL; i++) {
        CsiCapability *capability = &((CsiCapability *)*at)[i];
        if (((const Csi__V1__VolumeCapability *)items[i])->access_type_case == 0)
            messages_refuse(self, field->name, "has neither block nor mount");
        if ((unsigned)capability->mode >= CSI_N_MODES)
            capability->mode = CSI_MODE_UNKNOWN;
    }
}

/* Capabilities by number: bit n of the mask is type n of the first member of the oneof; from bit 16
 * on of the second one (csi.h). */
#define SECOND_GROUP 15

static void
write_flags(MessagesWalk *self,
            ProtobufCMessage *message,
            const ProtobufCFieldDescriptor *field,
            unsigned mask)
{
    size_t n = 0, n_flags = 0;

    for (int bit = 1; bit < 32; bit++)
        n_flags += (mask & 1u << bit) != 0;
    ProtobufCMessage **items = parts(self, message, field, &n_flags);
    for (int bit = 1; bit < 32; bit++) {
        if ((mask & 1u << bit) == 0)
            continue;
        const ProtobufCFieldDescriptor *member =
            &items[n]->descriptor->fields[bit > SECOND_GROUP ? 1 : 0];
        ProtobufCMessage *rpc = part(self, items[n++], member);
        MEMBER(int, rpc, rpc->descriptor->fields[0].offset) =
            bit > SECOND_GROUP ? bit - SECOND_GROUP : bit;
    }
}

static unsigned
read_flags(MessagesWalk *self, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    unsigned mask = 0;
    size_t n = 0;
    ProtobufCMessage **items = parts(self, message, field, &n);

    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < items[i]->descriptor->n_fields; k++) {
            const ProtobufCMessage *rpc = part_of(items[i], &items[i]->descriptor->fields[k]);
            int type =
                rpc == NULL ? 0 : MEMBER(const int, (char *)rpc, rpc->descriptor->fields[0].offset);
            if (type > 0 && type <= SECOND_GROUP)
                mask |= 1u << (k == 0 ? type : type + SECOND_GROUP);
        }
    return mask;
}

/* Bytes, and inodes unless it is a block device. */
static void
walk_usage(MessagesWalk *self,
           ProtobufCMessage *message,
           const ProtobufCFieldDescriptor *field,
           CsiResponse *at)
{
    size_t n = at->total_inodes > 0 ? 2 : 1;
    Csi__V1__VolumeUsage **usage = (Csi__V1__VolumeUsage **)(void *)parts(self, message, field, &n);

    for (size_t i = 0; i < n; i++) {
        if (self->to_wire)
            usage[i]->unit =
                i == 0 ? CSI__V1__VOLUME_USAGE__UNIT__BYTES : CSI__V1__VOLUME_USAGE__UNIT__INODES;
        gboolean is_inodes = usage[i]->unit == CSI__V1__VOLUME_USAGE__UNIT__INODES;
        int64_t *const there[] = {&usage[i]->total, &usage[i]->used, &usage[i]->available};
        int64_t *const here[] = {is_inodes ? &at->total_inodes : &at->total_bytes,
                                 is_inodes ? &at->used_inodes : &at->used_bytes,
                                 is_inodes ? &at->available_inodes : &at->available_bytes};
        for (unsigned k = 0; k < G_N_ELEMENTS(there); k++)
            *(self->to_wire ? there[k] : here[k]) = *(self->to_wire ? here[k] : there[k]);
    }
}

static void
walk_time(MessagesWalk *self, Csi__V1__Timestamp *wire, SimTime *at)
{
    if (self->to_wire) {
        wire->seconds = (self->epoch + *at) / SIM_SECOND;
        wire->nanos = (int32_t)((self->epoch + *at) % SIM_SECOND);
    } else if (ABS(wire->seconds) < SIM_TIME_MAX / SIM_SECOND) {
        *at = wire->seconds * SIM_SECOND + wire->nanos - self->epoch;
    }
}

/* ---- Fields ---- */

static void
walk_number(MessagesWalk *self, const CsiField *field, void *wire, void *at)
{
    int32_t *count = wire;

    switch ((int)field->kind) {
    case TRUTH:
        if (self->to_wire)
            *(protobuf_c_boolean *)wire = *(gboolean *)at;
        else
            *(gboolean *)at = *(protobuf_c_boolean *)wire;
        return;
    case COUNT:
        if (self->to_wire)
            *count = *(int32_t *)at;
        else if (*count < 0)
            messages_refuse(self, field->name, "is negative");
        else
            *(int32_t *)at = *count;
        return;
    case BYTES:
        *(int64_t *)(self->to_wire ? wire : at) = *(int64_t *)(self->to_wire ? at : wire);
        return;
    default:
        g_assert_not_reached();
    }
}

/* A message that occurs once. */
static void
walk_part(MessagesWalk *self, const CsiField *field, ProtobufCMessage *inner, void *at)
{
    Csi__V1__BoolValue *truth = (Csi__V1__BoolValue *)inner;
    Csi__V1__Int64Value *number = (Csi__V1__Int64Value *)inner;
    CsiCondition healthy = {FALSE, "the volume is healthy"};

    switch ((int)field->kind) {
    case TRUTH_OR_NONE:
        if (self->to_wire)
            truth->value = *(gboolean *)at;
        else
            *(gboolean *)at = truth->value;
        return;
    case BYTES_OR_NONE:
        *(self->to_wire ? &number->value : (int64_t *)at) =
            self->to_wire ? *(int64_t *)at : number->value;
        return;
    case TIME:
        walk_time(self, (Csi__V1__Timestamp *)inner, at);
        return;
    case CASE:
        *(int *)at = field->value;
        at = (char *)at - field->offset;
        break;
    case CONFIRMED:
        *(gboolean *)at = TRUE;
        if (self->to_wire)
            walk_message(self, inner, REQUEST, (CsiRequest *)self->request);
        return;
    default:
        break;
    }
    if (field->inside == CONDITION && self->to_wire && ((CsiCondition *)at)->message == NULL)
        at = &healthy;
    walk_message(self, inner, field->inside, at);
    if (field->inside == SOURCE && !self->to_wire && ((CsiSource *)at)->id == NULL)
        messages_refuse(self, field->name, "names no snapshot or volume");
}

/* Whether there is something to put on the wire. */
static gboolean
is_given(const CsiField *field, const void *at)
{
    switch ((int)field->kind) {
    case BYTES_OR_NONE:
        return *(const int64_t *)at != 0;
    case CASE:
        return *(const int *)at == field->value;
    case CONFIRMED:
        return *(const gboolean *)at;
    case INSIDE:
        return field->inside != SOURCE || ((const CsiSource *)at)->kind != CSI_SOURCE_NONE;
    default:
        return TRUE;
    }
}

static void
walk_field(MessagesWalk *self,
           const CsiField *field,
           ProtobufCMessage *message,
           const ProtobufCFieldDescriptor *type,
           void *base)
{
    static const StringPair hidden = {"secret", "***"};
    void *wire = (char *)message + type->offset, *at = (char *)base + field->offset;
    size_t *n_wire = &MEMBER(size_t, message, type->quantifier_offset);
    unsigned *n = &MEMBER(unsigned, base, field->n_offset);
    const StringMap *secrets = NULL;

    switch (field->kind) {
    case TEXT:
        walk_text(self, field->name, wire, at);
        return;
    case TEXTS:
        walk_texts(self, field->name, wire, n_wire, at);
        return;
    case MAP:
        walk_map(self, message, type, at);
        return;
    case MAPS:
        walk_maps(self, message, type, at, n);
        return;
    case CAPABILITIES:
        walk_capabilities(self, message, type, at, n);
        return;
    case ENTRIES:
        walk_structs(self, message, type, ENTRY, sizeof(CsiEntry), at, n);
        return;
    case FLAGS:
        if (self->to_wire)
            write_flags(self, message, type, *(unsigned *)at);
        else
            *(unsigned *)at = read_flags(self, message, type);
        return;
    case USAGE:
        walk_usage(self, message, type, base);
        return;
    case SECRETS: /* only their presence is known */
        if (!self->to_wire) {
            *(gboolean *)at = *n_wire > 0;
        } else if (*(gboolean *)at) {
            secrets = own(self, string_map_new(&hidden, 1), (GDestroyNotify)string_map_unref);
            walk_map(self, message, type, &secrets);
        }
        return;
    case TRUTH:
    case COUNT:
    case BYTES:
        walk_number(self, field, wire, at);
        return;
    case TRUTH_OR_NONE:
    case BYTES_OR_NONE:
    case TIME:
    case INSIDE:
    case CASE:
    case CONFIRMED:
        break;
    }
    ProtobufCMessage *inner =
        self->to_wire && !is_given(field, at) ? NULL : part(self, message, type);
    if (inner != NULL)
        walk_part(self, field, inner, at);
}

static void
walk_message(MessagesWalk *self, ProtobufCMessage *message, CsiPlace place, void *base)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    for (unsigned i = 0; i < type->n_fields; i++) {
        const CsiField *field = csi_message_field(place, type->short_name, type->fields[i].name);
        if (field != NULL)
            walk_field(self, field, message, &type->fields[i], base);
    }
}

/* ---- Messages ---- */

static gboolean
is_about_one(CsiMethod method)
{
    return method == CSI_CONTROLLER_GET_VOLUME || method == CSI_GET_SNAPSHOT;
}

/* The response, or its only entry. */
static void
walk_response(MessagesWalk *self, CsiMethod method, CsiResponse *response)
{
    if (!is_about_one(method)) {
        walk_message(self, self->of->message, RESPONSE, response);
        return;
    }
    if (!self->to_wire) {
        response->entries = room(self, 1, sizeof(CsiEntry));
        response->n_entries = 1;
    }
    if (response->n_entries > 0)
        walk_message(self, self->of->message, ENTRY, (CsiEntry *)&response->entries[0]);
}

static gboolean
begin_reading(CsiMessage *self,
              const ProtobufCMessageDescriptor *type,
              CsiMethod method,
              const uint8_t *bytes,
              size_t n_bytes)
{
    *self = (CsiMessage){.request = {.method = method},
                         .message = protobuf_c_message_unpack(type, NULL, n_bytes, bytes),
                         .is_unpacked = TRUE,
                         .owned = g_array_new(FALSE, FALSE, sizeof(Owned))};
    if (self->message == NULL)
        self->fault = g_strdup("this is no message of this method");
    return self->message != NULL;
}

void
csi_message_read_request(
    CsiMessage *self, Strings *strings, CsiMethod method, const uint8_t *bytes, size_t n_bytes)
{
    MessagesWalk walk = {.of = self, .strings = strings};

    if (begin_reading(self, csi_message_types(method)->request, method, bytes, n_bytes))
        walk_message(&walk, self->message, REQUEST, &self->request);
    if (self->fault != NULL)
        self->request = (CsiRequest){.method = method};
}

void
csi_message_read_response(CsiMessage *self,
                          Strings *strings,
                          CsiMethod method,
                          const uint8_t *bytes,
                          size_t n_bytes,
                          int64_t epoch)
{
    MessagesWalk walk = {.of = self, .strings = strings, .epoch = epoch};

    if (begin_reading(self, csi_message_types(method)->response, method, bytes, n_bytes))
        walk_response(&walk, method, &self->response);
}

static void
begin_writing(MessagesWalk *self, const ProtobufCMessageDescriptor *type)
{
    *self->of = (CsiMessage){.owned = g_array_new(FALSE, FALSE, sizeof(Owned))};
    self->of->message = room(self, 1, type->sizeof_message);
    protobuf_c_message_init(type, self->of->message);
}

void
csi_message_write_request(CsiMessage *self, const CsiRequest *request)
{
    MessagesWalk walk = {.of = self, .to_wire = TRUE};

    begin_writing(&walk, csi_message_types(request->method)->request);
    walk_message(&walk, self->message, REQUEST, (CsiRequest *)request);
}

void
csi_message_write_response(CsiMessage *self,
                           const CsiRequest *request,
                           const CsiResponse *response,
                           int64_t epoch)
{
    MessagesWalk walk = {.of = self, .to_wire = TRUE, .request = request, .epoch = epoch};
    CsiResponse told = *response;

    if (request->method == CSI_CREATE_SNAPSHOT)
        told.volume_id = request->volume_id;
    begin_writing(&walk, csi_message_types(request->method)->response);
    walk_response(&walk, request->method, &told);
}

void
csi_message_clear(CsiMessage *self)
{
    if (self->is_unpacked && self->message != NULL)
        protobuf_c_message_free_unpacked(self->message, NULL);
    for (unsigned i = 0; self->owned != NULL && i < self->owned->len; i++) {
        const Owned *owned = &g_array_index(self->owned, Owned, i);
        owned->free(owned->pointer);
    }
    g_clear_pointer(&self->owned, g_array_unref);
    g_clear_pointer(&self->fault, g_free);
    self->message = NULL;
}

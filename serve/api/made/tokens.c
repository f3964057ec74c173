/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of ServiceAccounts. They look as a real server's, and a TokenReview knows them; nobody has
 * a key that would verify them, because this server has no secret: whoever reaches it may do all.
 */
#include <string.h>

#include "made.h"
#include "models/api/field.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"

#define ISSUER "https://kubernetes.default.svc.cluster.local"
#define HEADER "{\"alg\":\"RS256\",\"kid\":\"kvolsim\"}"
#define DEFAULT_LIFE_S 3600
#define LIFE_MIN_S 600
#define LIFE_MAX_S (INT64_C(1) << 32)

/* ---- The text ---- */

/* Appends @bytes in base64url without padding. */
static void
append_base64(GString *out, const void *bytes, gsize length)
{
    g_autofree char *text = g_base64_encode(bytes, length);

    for (char *at = text; *at != '\0' && *at != '='; at++)
        g_string_append_c(out, *at == '+' ? '-' : *at == '/' ? '_' : *at);
}

/* Appends a signature of the length that a real one has. */
static void
append_signature(GString *token)
{
    g_autofree char *digest =
        g_compute_hmac_for_data(G_CHECKSUM_SHA512, (const guchar *)HEADER, strlen(HEADER),
                                (const guchar *)token->str, token->len); /* 128 letters */
    g_autofree char *twice = g_strconcat(digest, digest, NULL);

    g_string_append_c(token, '.');
    append_base64(token, twice, strlen(twice));
}

/* Returns: (owned) */
static char *
token_text(const json_t *claims)
{
    GString *token = g_string_new(NULL);
    char *json = json_dumps(claims, JSON_COMPACT | JSON_SORT_KEYS);

    append_base64(token, HEADER, strlen(HEADER));
    g_string_append_c(token, '.');
    append_base64(token, json, strlen(json));
    append_signature(token);
    free(json);
    return g_string_free(token, FALSE);
}

/* Returns: (owned): the claims of a token of this server; NULL: it is none */
static json_t *
token_claims(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ".", 4);

    if (g_strv_length(parts) != 3)
        return NULL;
    g_autoptr(GString) unsigned_part = g_string_new(parts[0]);
    g_string_append_printf(unsigned_part, ".%s", parts[1]);
    append_signature(unsigned_part);
    if (strcmp(unsigned_part->str, text) != 0)
        return NULL;
    g_autoptr(GString) padded = g_string_new(parts[1]);
    for (char *at = padded->str; *at != '\0'; at++)
        *at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
    while (padded->len % 4 != 0)
        g_string_append_c(padded, '=');
    gsize length;
    g_autofree guchar *bytes = g_base64_decode(padded->str, &length);
    return json_loadb((const char *)bytes, length, 0, NULL);
}

/* ---- TokenRequest ---- */

/* Returns: (owned): what is wrong with the request; NULL: nothing */
static json_t *
request_fault(const json_t *life)
{
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
    json_int_t seconds = json_integer_value(life);

    if (life == NULL || (seconds >= LIFE_MIN_S && seconds <= LIFE_MAX_S))
        return NULL;
    g_ptr_array_add(faults,
                    g_strdup_printf("spec.expirationSeconds: Invalid value: %" JSON_INTEGER_FORMAT
                                    ": may not specify a duration %s",
                                    seconds,
                                    seconds < LIFE_MIN_S ? "less than 10 minutes"
                                                         : "larger than 2^32 seconds"));
    return status_invalid(
        &(StatusSubject){"authentication.k8s.io", "tokenrequests", "TokenRequest", NULL}, faults);
}

/* Returns: (owned): why the token cannot be bound to the object that @reference names; NULL: it
 * can, or is bound to none. @claim: (out) (owned) (nullable): the object in the token */
static json_t *
read_bound(const Target *target, const json_t *reference, json_t **claim)
{
    static const char *const kinds[][2] = {
        {"Pod",    "pods"   },
        {"Secret", "secrets"},
        {"Node",   "nodes"  },
    };
    const char *kind = json_path_string(reference, "kind"),
               *name = json_path_string(reference, "name"),
               *uid = json_path_string(reference, "uid");
    const ApiResource *row;

    if (!json_is_object(reference))
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (g_strcmp0(kind, kinds[i][0]) != 0)
            continue;
        StoreKind *bound = serve_store_kind(target->api->store, "", "v1", kinds[i][1], &row);
        json_auto_t *object =
            store_get(bound, row->namespaced ? target->namespace : "", name != NULL ? name : "");
        const char *found = json_path_string(object, "metadata.uid");
        StatusSubject subject = {"", kinds[i][1], kinds[i][0], name};
        if (object == NULL)
            return status_not_found(&subject);
        if (uid != NULL && *uid != '\0' && g_strcmp0(uid, found) != 0) {
            g_autofree char *why = g_strdup_printf(
                "the UID in the bound object reference (%s) does not match the UID in record. "
                "The object might have been deleted and then recreated",
                uid);
            return status_conflict(&subject, why);
        }
        g_autofree char *lower = g_ascii_strdown(kind, -1);
        *claim = json_pack("{s:{s:s, s:s?}}", lower, "name", name, "uid", found);
        return NULL;
    }
    return status_format(400, "cannot bind token for serviceaccount \"%s\" to %s object",
                         target->name, kind != NULL ? kind : "");
}

/* Returns: (owned): the claims */
static json_t *
make_claims(
    const Target *target, const json_t *account, json_t *audiences, SimTime at, json_int_t life)
{
    g_autofree char *subject =
        g_strdup_printf("system:serviceaccount:%s:%s", target->namespace, target->name);
    char jti[OBJECT_UID_BUFFER];
    uint64_t hash = sim_hash_combine(sim_hash_string(subject), (uint64_t)at);
    json_int_t now = snapshot_now(target->api->options.run) / SIM_SECOND;

    object_uid_format((ObjectUid){hash, sim_hash_combine(hash, 1)}, jti);
    return json_pack("{s:O, s:I, s:I, s:I, s:s, s:s, s:s, s:{s:s, s:{s:s, s:O?}}}", "aud",
                     audiences, "exp", now + life, "iat", now, "nbf", now, "iss", ISSUER, "jti",
                     jti, "sub", subject, "kubernetes.io", "namespace", target->namespace,
                     "serviceaccount", "name", target->name, "uid",
                     json_path_get(account, "metadata.uid"));
}

static void
answer_token(const Target *target, json_t *request, const json_t *account, json_t *bound)
{
    json_t *spec = json_object_get(request, "spec"),
           *life = json_object_get(spec, "expirationSeconds");
    g_autofree char *now = serve_store_now(target->api->store);
    SimTime at = 0;
    char end[API_TIME_BUFFER];

    if (!json_is_object(spec))
        json_object_set_new(request, "spec", spec = json_object());
    if (life == NULL)
        json_object_set_new(spec, "expirationSeconds", life = json_integer(DEFAULT_LIFE_S));
    if (json_array_size(json_object_get(spec, "audiences")) == 0)
        json_object_set_new(spec, "audiences", json_pack("[s]", ISSUER));
    if (json_object_get(spec, "boundObjectRef") == NULL)
        json_object_set_new(spec, "boundObjectRef", json_null());
    api_time_parse(now, &at);
    json_auto_t *claims = make_claims(target, account, json_object_get(spec, "audiences"), at,
                                      json_integer_value(life));
    if (bound != NULL)
        json_object_update(json_object_get(claims, "kubernetes.io"), bound);
    g_autofree char *token = token_text(claims);
    json_object_set_new(request, "kind", json_string("TokenRequest"));
    json_object_set_new(request, "apiVersion", json_string("authentication.k8s.io/v1"));
    json_object_set_new(request, "metadata",
                        json_pack("{s:s, s:s, s:s}", "name", target->name, "namespace",
                                  target->namespace, "creationTimestamp", now));
    json_object_set_new(
        request, "status",
        json_pack("{s:s, s:s}", "token", token, "expirationTimestamp",
                  api_time_format(at + json_integer_value(life) * SIM_SECOND, FALSE, end)));
    target_send(target, 201, json_incref(request));
}

void
token_create(const Target *target)
{
    json_t *fault = NULL, *bound_claim = NULL;
    json_auto_t *request = body_read(target->exchange, "TokenRequest", &fault);
    json_auto_t *account = store_get(target->kind, target->namespace, target->name);
    StatusSubject subject = target_subject(target);

    if (fault == NULL)
        fault = body_fault(target, request);
    if (fault == NULL && account == NULL)
        fault = status_not_found(&subject);
    if (fault == NULL)
        fault = request_fault(json_path_get(request, "spec.expirationSeconds"));
    if (fault == NULL)
        fault = read_bound(target, json_path_get(request, "spec.boundObjectRef"), &bound_claim);
    if (fault != NULL)
        target_refuse(target, fault);
    else
        answer_token(target, request, account, bound_claim);
    json_decref(bound_claim);
}

/* ---- TokenReview ---- */

static json_t *
not_authenticated(const char *why)
{
    g_autofree char *error = why == NULL ? g_strdup("invalid bearer token")
                                         : g_strdup_printf("[invalid bearer token, %s]", why);

    return json_pack("{s:{}, s:s}", "user", "error", error);
}

json_t *
token_review(ServeApi *api, const char *token)
{
    json_auto_t *claims = token_claims(token);
    const json_t *own = json_object_get(claims, "kubernetes.io");
    const char *namespace = json_path_string(own, "namespace"),
               *name = json_path_string(own, "serviceaccount.name"),
               *uid = json_path_string(own, "serviceaccount.uid"),
               *jti = json_path_string(claims, "jti");
    const ApiResource *row;

    if (namespace == NULL || name == NULL)
        return not_authenticated(NULL);
    json_auto_t *account =
        store_get(serve_store_kind(api->store, "", "v1", "serviceaccounts", &row), namespace, name);
    if (account == NULL || g_strcmp0(uid, json_path_string(account, "metadata.uid")) != 0)
        return not_authenticated("service account token has been invalidated");
    if (snapshot_now(api->options.run) / SIM_SECOND >=
        json_integer_value(json_object_get(claims, "exp")))
        return not_authenticated("service account token has expired");
    g_autofree char *group = g_strdup_printf("system:serviceaccounts:%s", namespace),
                    *credential = g_strdup_printf("JTI=%s", jti);
    return json_pack("{s:b, s:{s:O, s:s?, s:[s, s, s], s:{s:[s]}}, s:O?}", "authenticated", TRUE,
                     "user", "username", json_object_get(claims, "sub"), "uid", uid, "groups",
                     "system:serviceaccounts", group, "system:authenticated", "extra",
                     "authentication.kubernetes.io/credential-id", credential, "audiences",
                     json_object_get(claims, "aud"));
}

json_t *
token_configuration(void)
{
    return json_pack("{s:s, s:s, s:[s], s:[s], s:[s]}", "issuer", ISSUER, "jwks_uri",
                     ISSUER "/openid/v1/jwks", "response_types_supported", "id_token",
                     "subject_types_supported", "public", "id_token_signing_alg_values_supported",
                     "RS256");
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"
#include "stages.h"

/* The tables of all fields of a scenario and of the profiles, below; before them what reads the values that only scenarios
 * have. */

static const FormatType limit_type, limit_list_type, range_type;

gboolean
scenario_read_method(FormatReader *reader, const json_t *value, CsiMethod *method)
{
    const char *names[CSI_N_METHODS];

    if (!json_is_string(value)) {
        format_fault(reader, "such as CreateVolume", "must be the name of a CSI call, not %s",
                     format_json_words(value));
        return FALSE;
    }
    if (csi_method_parse(json_string_value(value), method))
        return TRUE;
    for (CsiMethod i = 0; i < CSI_N_METHODS; i++)
        names[i] = csi_method_name(i);
    g_autofree char *nearest = format_nearest(json_string_value(value), names, CSI_N_METHODS);
    format_fault(reader, nearest, "there is no CSI call \"%s\"", json_string_value(value));
    return FALSE;
}

static json_t *
schema_method(const FormatType *type)
{
    json_t *names = json_array();

    (void)type;
    for (CsiMethod i = 0; i < CSI_N_METHODS; i++)
        json_array_append_new(names, json_string(csi_method_name(i)));
    return json_pack("{s:o}", "enum", names);
}

static void
read_method(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    (void)type;
    scenario_read_method(reader, value, target);
}

static void
read_code(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    const char *names[CSI_N_CODES];

    (void)type;
    if (!json_is_string(value)) {
        format_fault(reader, "such as INTERNAL", "must be a gRPC code, not %s",
                     format_json_words(value));
        return;
    }
    if (csi_code_parse(json_string_value(value), target)) {
        if (*(CsiCode *)target == CSI_OK)
            format_fault(reader, NULL, "OK is no error");
        return;
    }
    for (CsiCode i = 0; i < CSI_N_CODES; i++)
        names[i] = csi_code_name(i);
    g_autofree char *nearest = format_nearest(json_string_value(value), names, CSI_N_CODES);
    format_fault(reader, nearest, "there is no gRPC code \"%s\"", json_string_value(value));
}

static json_t *
schema_code(const FormatType *type)
{
    json_t *names = json_array();

    (void)type;
    for (CsiCode i = CSI_OK + 1; i < CSI_N_CODES; i++)
        json_array_append_new(names, json_string(csi_code_name(i)));
    return json_pack("{s:o}", "enum", names);
}

/* ---- Names ---- */

static void
read_domain_name(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    const char *text = NULL;

    (void)type;
    format_read(reader, &format_string, value, &text);
    if (text == NULL)
        return;
    const char *fault = name_fault_subdomain(text); /* API-139 */
    if (fault != NULL)
        format_fault(reader, fault, "\"%s\" is not a valid name", text);
    else
        *(const char **)target = text;
}

static json_t *
schema_name(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s, s:s, s:i}", "type", "string", "pattern",
                     "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength", 253);
}

/* ---- Flags of processes ---- */

static void
set_flag(FormatReader *reader,
         const ProcessClass *class,
         void *scratch,
         const char *name,
         const json_t *value,
         GHashTable *flags)
{
    const ProcessFlag *flag = process_class_flag(class, name);
    g_autofree char *text = format_scalar_text(value);
    g_autoptr(GError) error = NULL;

    if (text == NULL)
        format_fault(reader, NULL, "must be the text of a flag, not %s", format_json_words(value));
    else if (!process_flag_set(flag, scratch, text, reader->strings, &error))
        format_fault(reader, flag->help, "%s", error->message);
    else
        g_hash_table_insert(flags, (char *)flag->name, (char *)format_intern(reader, text));
}

static void
fault_unknown_flag(FormatReader *reader,
                   const ProcessClass *class,
                   const json_t *value,
                   const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        g_ptr_array_add(names, (char *)flag->name);
    g_autofree char *nearest = format_nearest(name, (const char *const *)names->pdata, names->len);
    format_fault_member(reader, value, name, nearest, "%s has no flag of this name here",
                        class->name);
}

/* What client-go's NewLeaderElector() refuses, so that the process would not start. */
static void
check_election(FormatReader *reader,
               const ProcessClass *class,
               const void *options,
               const json_t *value)
{
    const LeaderElectionOptions *election =
        class->election == NULL ? NULL
                                : G_STRUCT_MEMBER_P((void *)options, class->election->offset);

    if (election == NULL)
        return;
    if (election->replicas > PROCESS_REPLICAS_MAX)
        format_fault_member(reader, value, "replicas", NULL, "at most %d are simulated",
                            PROCESS_REPLICAS_MAX);
    if (election->lease_duration <= election->renew_deadline)
        format_fault(reader, NULL, "the lease duration must be greater than the renew deadline");
    if ((double)election->renew_deadline <= 1.2 * (double)election->retry_period)
        format_fault(reader, NULL,
                     "the renew deadline must be greater than the retry period times 1.2");
}

GHashTable *
scenario_read_flags(FormatReader *reader, const ProcessClass *class, const json_t *value)
{
    GHashTable *flags = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree void *scratch = process_options_new(class, reader->strings);
    const char *name;
    json_t *member;

    g_ptr_array_add(reader->tables, flags);
    if (!json_is_object(value)) {
        format_fault(reader, NULL, "must be a mapping of flags, not %s", format_json_words(value));
        return flags;
    }
    json_object_foreach((json_t *)value, name, member)
    {
        const char *bare = g_str_has_prefix(name, "--") ? name + 2 : name;
        if (process_class_flag(class, bare) == NULL) {
            fault_unknown_flag(reader, class, value, bare == name ? name : bare);
            continue;
        }
        FormatPlace place = format_enter_member(reader, value, name);
        set_flag(reader, class, scratch, bare, member, flags);
        format_leave(reader, place);
    }
    check_election(reader, class, scratch, value);
    return flags;
}

static json_t *
schema_of_flag(const ProcessFlag *flag)
{
    static const char *const types[] = {
        [FLAG_BOOL] = "boolean",    [FLAG_INT] = "integer",   [FLAG_NUMBER] = "number",
        [FLAG_DURATION] = "string", [FLAG_STRING] = "string", [FLAG_SIGNED_INT] = "integer",
    };
    g_autofree char *help = g_strdup_printf(
        "%s; default %s", flag->help, *flag->default_value != '\0' ? flag->default_value : "none");

    return json_pack("{s:s, s:s}", "type", types[flag->type], "description", help);
}

static json_t *
schema_of_flags(const ProcessClass *class)
{
    json_t *properties = json_object();

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        json_object_set_new(properties, flag->name, schema_of_flag(flag));
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

/* Flags by process, of all that have this scope. */
static json_t *
schema_of_processes(ProcessScope scope)
{
    json_t *properties = json_object();

    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == scope && json_object_get(properties, class->name) == NULL)
            json_object_set_new(properties, class->name, schema_of_flags(class));
    }
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static void
read_kubelet_flags(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    const ProcessClass *class = process_class_find("kubelet");

    (void)type;
    if (class != NULL)
        *(GHashTable **)target = scenario_read_flags(reader, class, value);
}

static json_t *
schema_kubelet_flags(const FormatType *type)
{
    const ProcessClass *class = process_class_find("kubelet");

    (void)type;
    return class != NULL ? schema_of_flags(class) : json_object();
}

static void
fault_unknown_process(FormatReader *reader,
                      ProcessScope scope,
                      const json_t *value,
                      const char *name)
{
    g_autofree char *names = process_class_names(scope);
    g_auto(GStrv) words = g_strsplit(names, ", ", -1);
    g_autofree char *nearest =
        format_nearest(name, (const char *const *)words, g_strv_length(words));
    g_autofree char *known = g_strdup_printf("known: %s", names);

    format_fault_member(reader, value, name, nearest != NULL ? nearest : known,
                        "there is no component of this name here");
}

static void
read_components(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    GHashTable *components = g_hash_table_new(g_str_hash, g_str_equal);
    const char *name;
    json_t *flags;

    (void)type;
    g_ptr_array_add(reader->tables, components);
    *(GHashTable **)target = components;
    if (!json_is_object(value)) {
        format_fault(reader, NULL, "must be a mapping of components, not %s",
                     format_json_words(value));
        return;
    }
    json_object_foreach((json_t *)value, name, flags)
    {
        const ProcessClass *class = process_class_find(name);
        if (class == NULL || class->scope != PER_CLUSTER) {
            fault_unknown_process(reader, PER_CLUSTER, value, name);
            continue;
        }
        FormatPlace place = format_enter_member(reader, value, name);
        g_hash_table_insert(components, (char *)class->name,
                            scenario_read_flags(reader, class, flags));
        format_leave(reader, place);
    }
}

static json_t *
schema_components(const FormatType *type)
{
    (void)type;
    return schema_of_processes(PER_CLUSTER);
}

static json_t *
schema_sidecars(const FormatType *type)
{
    json_t *schema = schema_of_processes(PER_DRIVER);
    const char *name;
    json_t *flags;

    (void)type;
    json_object_foreach(json_object_get(schema, "properties"), name, flags)
    {
        json_object_set_new(json_object_get(schema, "properties"), name,
                            json_pack("{s:[{s:b}, O]}", "anyOf", "const", 0, flags));
    }
    return schema;
}

static void
read_mapping(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    if (json_is_object(value))
        *(const json_t **)target = value;
    else
        format_fault(reader, type->hint, "must be a mapping, not %s", format_json_words(value));
}

/* ---- Drivers ---- */

/* By the names of latencies: for each an item, read as @item_type, of a size of @item_bytes in @target. */
static void
read_by_latency(FormatReader *reader,
                const char *example,
                const json_t *value,
                const FormatType *item_type,
                size_t item_bytes,
                void *target)
{
    const char *names[CSI_N_LATENCIES];
    const char *name;
    json_t *member;

    if (!json_is_object(value)) {
        format_fault(reader, example, "must be a mapping, not %s", format_json_words(value));
        return;
    }
    for (CsiLatency i = 0; i < CSI_N_LATENCIES; i++)
        names[i] = csi_latency_name(i);
    json_object_foreach((json_t *)value, name, member)
    {
        CsiLatency which;
        if (!csi_latency_parse(name, &which)) {
            g_autofree char *nearest = format_nearest(name, names, CSI_N_LATENCIES);
            format_fault_member(reader, value, name, nearest, "there is no CSI call of this name");
            continue;
        }
        FormatPlace place = format_enter_member(reader, value, name);
        format_read(reader, item_type, member, (char *)target + which * item_bytes);
        format_leave(reader, place);
    }
}

static void
read_latencies(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    (void)type;
    read_by_latency(reader, "such as {CreateVolume: 1s}", value, &format_dist, sizeof(SimDist *),
                    target);
}

static const FormatField slowdown_fields[] = {
    {"exponent", &format_exponent, offsetof(CsiSlowdown, exponent), FORMAT_REQUIRED, NULL, "Of n calls at once, each takes n / undisturbed to this power as long as alone"},
    {"undisturbed", &format_rate, offsetof(CsiSlowdown, undisturbed), 0, "1", "So many calls are in nobody's way"},
    {0},
};
static const FormatType slowdown_struct_type = FORMAT_STRUCT("slowdown", slowdown_fields, CsiSlowdown);

/* An exponent alone, or a mapping. */
static void
read_slowdown(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    (void)type;
    if (json_is_object(value))
        format_read(reader, &slowdown_struct_type, value, target);
    else
        format_read(reader, &format_exponent, value, &((CsiSlowdown *)target)->exponent);
}

static json_t *
schema_slowdown(const FormatType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", format_exponent.schema(&format_exponent),
                     format_schema_struct(&slowdown_struct_type));
}

static const FormatType slowdown_type = {.name = "slowdown", .wanted = "an exponent or a mapping", .read = read_slowdown, .schema = schema_slowdown, .size = sizeof(CsiSlowdown)};

static void
read_slowdowns(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    (void)type;
    read_by_latency(reader, "such as {CreateVolume: 0.5}", value, &slowdown_type,
                    sizeof(CsiSlowdown), target);
}

static json_t *
schema_by_latency(const FormatType *item_type)
{
    json_t *properties = json_object();

    for (CsiLatency i = 0; i < CSI_N_LATENCIES; i++)
        json_object_set_new(properties, csi_latency_name(i), item_type->schema(item_type));
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static json_t *
schema_latencies(const FormatType *type)
{
    (void)type;
    return schema_by_latency(&format_dist);
}

static json_t *
schema_slowdowns(const FormatType *type)
{
    (void)type;
    return schema_by_latency(&slowdown_type);
}

typedef struct {
    const char *name;
    uint32_t bit;
} Capability;

static const Capability controller_capabilities[] = {
    {"CREATE_DELETE_VOLUME",         CSI_CONTROLLER_CREATE_DELETE_VOLUME        },
    {"PUBLISH_UNPUBLISH_VOLUME",     CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME    },
    {"LIST_VOLUMES",                 CSI_CONTROLLER_LIST_VOLUMES                },
    {"GET_CAPACITY",                 CSI_CONTROLLER_GET_CAPACITY                },
    {"CREATE_DELETE_SNAPSHOT",       CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT      },
    {"LIST_SNAPSHOTS",               CSI_CONTROLLER_LIST_SNAPSHOTS              },
    {"CLONE_VOLUME",                 CSI_CONTROLLER_CLONE_VOLUME                },
    {"PUBLISH_READONLY",             CSI_CONTROLLER_PUBLISH_READONLY            },
    {"EXPAND_VOLUME",                CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY    },
    {"LIST_VOLUMES_PUBLISHED_NODES", CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES},
    {"VOLUME_CONDITION",             CSI_CONTROLLER_VOLUME_CONDITION            },
    {"GET_VOLUME",                   CSI_CONTROLLER_GET_VOLUME_CAPABILITY       },
    {"SINGLE_NODE_MULTI_WRITER",     CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER    },
    {"MODIFY_VOLUME",                CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY    },
    {"GET_SNAPSHOT",                 CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY     },
    {NULL,                           0                                          },
};

static const Capability node_capabilities[] = {
    {"STAGE_UNSTAGE_VOLUME",     CSI_NODE_STAGE_UNSTAGE_VOLUME       },
    {"GET_VOLUME_STATS",         CSI_NODE_GET_VOLUME_STATS_CAPABILITY},
    {"EXPAND_VOLUME",            CSI_NODE_EXPAND_VOLUME_CAPABILITY   },
    {"VOLUME_CONDITION",         CSI_NODE_VOLUME_CONDITION           },
    {"SINGLE_NODE_MULTI_WRITER", CSI_NODE_SINGLE_NODE_MULTI_WRITER   },
    {"VOLUME_MOUNT_GROUP",       CSI_NODE_VOLUME_MOUNT_GROUP         },
    {NULL,                       0                                   },
};

static const Capability plugin_capabilities[] = {
    {"CONTROLLER_SERVICE",               CSI_PLUGIN_CONTROLLER_SERVICE              },
    {"VOLUME_ACCESSIBILITY_CONSTRAINTS", CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS},
    {"EXPANSION_ONLINE",                 CSI_PLUGIN_EXPANSION_ONLINE                },
    {"EXPANSION_OFFLINE",                CSI_PLUGIN_EXPANSION_OFFLINE               },
    {NULL,                               0                                          },
};

static uint32_t
capability_bit(const Capability *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (g_strcmp0(table->name, name) == 0)
            return table->bit;
    return 0;
}

static void
read_capability_list(FormatReader *reader,
                     const Capability *table,
                     const json_t *value,
                     uint32_t *mask)
{
    const char *names[32];
    unsigned n_names = 0;

    if (!json_is_array(value)) {
        format_fault(reader, NULL, "must be a list, not %s", format_json_words(value));
        return;
    }
    for (; table[n_names].name != NULL; n_names++)
        names[n_names] = table[n_names].name;
    *mask = CAPABILITIES_GIVEN;
    for (gsize i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        uint32_t bit = capability_bit(table, name);
        FormatPlace place = format_enter_item(reader, value, i);
        g_autofree char *nearest =
            bit == 0 && name != NULL ? format_nearest(name, names, n_names) : NULL;
        if (bit == 0)
            format_fault(reader, nearest, "\"%s\" is no capability", name != NULL ? name : "");
        *mask |= bit;
        format_leave(reader, place);
    }
}

static json_t *
schema_capability_list(const Capability *table)
{
    json_t *words = json_array();

    for (; table->name != NULL; table++)
        json_array_append_new(words, json_string(table->name));
    return json_pack("{s:s, s:{s:o}}", "type", "array", "items", "enum", words);
}

#define CAPABILITIES(of)                                                                           \
    static void read_##of(FormatReader *reader, const FormatType *type, const json_t *value,       \
                          void *target)                                                            \
    {                                                                                              \
        (void)type;                                                                                \
        read_capability_list(reader, of, value, target);                                           \
    }                                                                                              \
    static json_t *schema_##of(const FormatType *type)                                             \
    {                                                                                              \
        (void)type;                                                                                \
        return schema_capability_list(of);                                                         \
    }                                                                                              \
    static const FormatType of##_type = {.name = "list of capabilities",                           \
                                         .wanted = "a list",                                       \
                                         .read = read_##of,                                        \
                                         .schema = schema_##of,                                    \
                                         .size = sizeof(uint32_t)}

CAPABILITIES(controller_capabilities);
CAPABILITIES(node_capabilities);
CAPABILITIES(plugin_capabilities);

static void
error_init(void *target)
{
    *(CsiModelledError *)target = (CsiModelledError){.method = CSI_N_METHODS, .probability = 1};
}

static void
error_check(FormatReader *reader, const json_t *value, void *target)
{
    const CsiModelledError *error = target;

    if (error->until != 0 && error->until <= error->from)
        format_fault_member(reader, value, "until", NULL, "is not after \"from\"");
}

/* One limit needs no list around it. */
static void
read_limits(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    FormatList *list = target;

    (void)type;
    if (!json_is_object(value)) {
        format_read(reader, &limit_list_type, value, target);
        return;
    }
    list->n = 1;
    list->items = format_alloc(reader, sizeof(LimitFields));
    format_read(reader, &limit_type, value, list->items);
}

static json_t *
schema_limits(const FormatType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", format_schema_struct(&limit_type),
                     format_schema_list(&limit_list_type));
}

static void
volume_size_check(FormatReader *reader, const json_t *value, void *target)
{
    const int64_t *size = target; /* min, max, step, default */

    if (size[1] != 0 && size[0] > size[1])
        format_fault_member(reader, value, "min", NULL, "is greater than \"max\"");
}

void
scenario_driver_fields_init(void *target)
{
    *(DriverFields *)target = (DriverFields){.attach_required = -1, .topologies_per_volume = 1};
}

/* Read by scenario-driver.c, the profile first. */
static void
read_driver(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    DriverFields *fields = target;

    if (!json_is_object(value)) {
        format_fault(reader, NULL, "must be %s, not %s", type->wanted, format_json_words(value));
        return;
    }
    fields->source = value;
    fields->at = reader->at;
    fields->path = format_intern(reader, reader->path->str);
}

/* ---- Nodes ---- */

static void
node_init(void *target)
{
    *(NodeFields *)target = (NodeFields){
        .nodes = {.count = 1, .autoscaler = {.scan_interval = 10 * SIM_SECOND}}
    };
}

static void
node_check(FormatReader *reader, const json_t *value, void *target)
{
    NodeFields *fields = target;
    const char *name = fields->nodes.name;

    fields->source = value;
    fields->at = reader->at;
    fields->path = format_intern(reader, reader->path->str);
    if (name == NULL)
        return;
    const char *place = strstr(name, "%d");
    g_auto(GStrv) parts = g_strsplit(name, "%d", -1);
    g_autofree char *first = g_strjoinv("0", parts);
    const char *fault = name_fault_subdomain(first);

    unsigned count = MAX(fields->nodes.count, fields->nodes.autoscaler.max);

    if (count > 1 && place == NULL)
        format_fault_member(reader, value, "name", "such as \"node-%d\"",
                            "\"%s\" needs \"%%d\": there are %u nodes", name, count);
    else if (g_strv_length(parts) > 2)
        format_fault_member(reader, value, "name", NULL, "\"%s\" has \"%%d\" twice", name);
    else if (fault != NULL)
        format_fault_member(reader, value, "name", fault, "\"%s\" is not a valid name", name);
    else
        return;
    fields->nodes.name = NULL; /* of no use to other checks */
}

/* ---- Workload ---- */

static void
create_init(void *target)
{
    *(CreateFields *)target = (CreateFields){.lasts = -1};
}

/* 24 rates that are not negative, and not all 0. */
static void
check_daily(FormatReader *reader, const json_t *value)
{
    const json_t *daily = json_object_get(value, "daily");
    double sum = 0;

    if (!json_is_array(daily))
        return;
    if (json_array_size(daily) != 24)
        format_fault_member(reader, value, "daily", "one number for each hour of the day",
                            "has %zu numbers, not 24", json_array_size(daily));
    for (size_t i = 0; i < json_array_size(daily); i++) {
        const json_t *item = json_array_get(daily, i);
        if (!json_is_number(item) || json_number_value(item) < 0 ||
            json_number_value(item) > 1000) {
            FormatPlace place = format_enter_member(reader, value, "daily");
            FormatPlace inner = format_enter_item(reader, daily, i);
            format_fault(reader, NULL, "must be a number from 0 to 1000");
            format_leave(reader, inner);
            format_leave(reader, place);
        } else {
            sum += json_number_value(item);
        }
    }
    if (sum == 0)
        format_fault_member(reader, value, "daily", NULL, "nothing would ever arrive");
}

/* What makes sense of several copies only. */
static void
check_needs_count(FormatReader *reader, const json_t *value)
{
    static const char *const members[] = {"interarrival", "lifetime", "keep", "for"};

    if (json_object_get(value, "count") != NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (json_object_get(value, members[i]) != NULL)
            format_fault_member(reader, value, members[i], NULL, "needs \"count\" beside it");
}

static void
drain_init(void *target)
{
    *(DrainFields *)target = (DrainFields){.grace_s = -1};
}

static void
drain_check(FormatReader *reader, const json_t *value, void *target)
{
    const DrainFields *fields = target;

    (void)value;
    if ((fields->node == NULL) == (fields->node_of_pod == NULL))
        format_fault(reader, "node: the name of a node",
                     "say by node or by nodeOfPod what is drained");
}

static void
create_check(FormatReader *reader, const json_t *value, void *target)
{
    static const char *const paced[] = {"daily", "for"};
    const CreateFields *fields = target;
    const json_t *count = json_object_get(value, "count");

    if (json_is_integer(count) && json_integer_value(count) == 0)
        format_fault_member(reader, value, "count", NULL, "0 copies are none: at least 1");
    check_needs_count(reader, value);
    for (unsigned i = 0; i < G_N_ELEMENTS(paced); i++)
        if (json_object_get(value, paced[i]) != NULL && fields->interarrival == NULL)
            format_fault_member(reader, value, paced[i], NULL,
                                "needs \"interarrival\" beside it");
    check_daily(reader, value);
}

static void
target_init(void *target)
{
    *(TargetFields *)target = (TargetFields){.grace_s = -1};
}

static void
action_init(void *target)
{
    *(ActionFields *)target =
        (ActionFields){.restart_after = -1, .lasts = -1, .factor = 1, .replica = REPLICA_LEADER};
}

static void
action_check(FormatReader *reader, const json_t *value, void *target)
{
    ActionFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = format_intern(reader, reader->path->str);
}

static void
workload_check(FormatReader *reader, const json_t *value, void *target)
{
    static const char *const actions[] = {"create", "delete", "patch",    "scale",    "drain",
                                          "taint",  "cordon", "uncordon", "setDriver"};
    unsigned n = 0;

    action_check(reader, value, target);
    for (unsigned i = 0; i < G_N_ELEMENTS(actions); i++)
        n += json_object_get(value, actions[i]) != NULL;
    if (n != 1)
        format_fault(reader,
                     "one of create, delete, patch, scale, drain, taint, cordon, uncordon, setDriver",
                     n == 0 ? "nothing is to be done here"
                            : "does %u things at once: make an item of each",
                     n);
}

/* ---- What is expected ---- */

static void
slo_init(void *target)
{
    *(SloFields *)target = (SloFields){.quantile = 1};
}

static void
slo_check(FormatReader *reader, const json_t *value, void *target)
{
    (void)value;
    ((SloFields *)target)->place = reader->at;
}

/* 3, or {min: 2, max: 4}. */
static void
read_count(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    CountFields *count = target;

    (void)type;
    if (!json_is_object(value)) {
        format_read(reader, &format_integer, value, &count->min);
        count->max = count->min;
        return;
    }
    *count = (CountFields){0, INT64_MAX};
    format_read_fields(reader, range_type.fields, value, count, FALSE);
    if (count->min > count->max)
        format_fault(reader, NULL, "\"min\" is greater than \"max\"");
}

static json_t *
schema_count(const FormatType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", format_schema_integer(&format_integer),
                     format_schema_struct(&range_type));
}

static void
expected_init(void *target)
{
    *(ExpectedFields *)target = (ExpectedFields){
        .ready = -1, .capacity = -1, .count = {-1, -1}
    };
}

static void
expected_check(FormatReader *reader, const json_t *value, void *target)
{
    (void)reader;
    (void)value;
    ((ExpectedFields *)target)->is_given = TRUE;
}

/* A word of a table, kept as text. */
static void
read_word(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    int which = -1;

    format_read_enum(reader, type, value, &which);
    if (which >= 0)
        *(const char **)target = type->words[which];
}

static void
expect_init(void *target)
{
    *(ExpectFields *)target = (ExpectFields){.at = SIM_TIME_MAX};
}

static void
expect_check(FormatReader *reader, const json_t *value, void *target)
{
    ExpectFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = format_intern(reader, reader->path->str);
    if (json_object_size(value) == (json_object_get(value, "at") != NULL))
        format_fault(reader, "one of pods, claims, volumes, attachments, nodes, driverVolumes",
                     "nothing is expected here");
}

/* ---- The whole ---- */

static json_t *
schema_until(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "string");
}

/* A time, or "idle": read by scenario.c. */
static void
read_until(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    SimTime time;

    (void)type;
    if (g_strcmp0(json_string_value(value), "idle") != 0)
        format_read(reader, &format_duration, value, &time);
    *(const json_t **)target = value;
}

static void
spec_init(void *target)
{
    *(SpecFields *)target = (SpecFields){.seed = 1, .idle_for = 10 * SIM_MINUTE};
}

/* ==== The tables: a row for each field ==== */

/* clang-format off */

#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const FormatType method_type = {.name = "CSI call", .wanted = "a CSI call", .read = read_method, .schema = schema_method, .size = sizeof(CsiMethod)};

static const FormatType code_type = {.name = "gRPC code", .wanted = "a gRPC code", .read = read_code, .schema = schema_code, .size = sizeof(CsiCode)};

static const FormatType name_type = {.name = "name", .wanted = "a name", .read = read_domain_name, .schema = schema_name, .size = sizeof(char *)};

static const FormatType kubelet_flags = {.name = "flags", .wanted = "a mapping of flags", .read = read_kubelet_flags, .schema = schema_kubelet_flags, .size = sizeof(GHashTable *)};

static const FormatType components_type = {.name = "flags by component", .wanted = "a mapping", .read = read_components, .schema = schema_components, .size = sizeof(GHashTable *)};

/* Read by scenario-driver.c, with fromManifest. */
static const FormatType sidecars_type = {.name = "flags by sidecar", .wanted = "a mapping", .read = read_mapping, .schema = schema_sidecars, .size = sizeof(json_t *)};

/* ---- Drivers ---- */

static const FormatType latencies_type = {.name = "distributions by CSI call", .wanted = "a mapping", .read = read_latencies, .schema = schema_latencies};
static const FormatType slowdowns_type = {.name = "slowdowns by CSI call", .wanted = "a mapping", .read = read_slowdowns, .schema = schema_slowdowns};

static const FormatField error_fields[] = {
    {"method", &method_type, AT(CsiModelledError, method), 0, "any", "The CSI call that fails"},
    {"code", &code_type, AT(CsiModelledError, code), FORMAT_REQUIRED, NULL, "The gRPC code, such as INTERNAL or RESOURCE_EXHAUSTED"},
    {"message", &format_string, AT(CsiModelledError, message), 0, "injected error", "What Events show"},
    {"probability", &format_probability, AT(CsiModelledError, probability), 0, "1", "Of each call"},
    {"count", &format_natural, AT(CsiModelledError, count), 0, "0: without end", "Only so many times"},
    {"perVolume", &format_bool, AT(CsiModelledError, per_volume), 0, "false", "The count holds for each volume alone"},
    {"zone", &format_string, AT(CsiModelledError, zone), 0, NULL, "Only CreateVolume calls whose first preferred topology is there"},
    {"node", &format_string, AT(CsiModelledError, node), 0, NULL, "Only calls for this node"},
    {"from", &format_duration, AT(CsiModelledError, from), 0, "0s", "Not before this time"},
    {"until", &format_duration, AT(CsiModelledError, until), 0, "the end", "Not from this time on"},
    {"latency", &format_dist, AT(CsiModelledError, latency), 0, "as if it succeeded", "Of the failing call"},
    {"afterEffect", &format_bool, AT(CsiModelledError, after_effect), 0, "false", "The work is done, only the answer says otherwise"},
    END,
};

static const FormatType error_type = FORMAT_STRUCT("error", error_fields, CsiModelledError, .init = error_init, .check = error_check);
static const FormatType errors_type = FORMAT_LIST(error_type);

static const FormatField rate_fields[] = {
    {"qps", &format_rate, AT(LimitFields, rate.qps) - AT(LimitFields, rate), FORMAT_REQUIRED, NULL, "Calls a second"},
    {"burst", &format_count, AT(LimitFields, rate.burst) - AT(LimitFields, rate), FORMAT_REQUIRED, NULL, "Calls at once"},
    END,
};
static const FormatType rate_type = FORMAT_STRUCT("rate", rate_fields, ((LimitFields *)0)->rate);

static const FormatField limit_fields[] = {
    {"methods", &format_method_mask, AT(LimitFields, methods), 0, "all controller calls", "The CSI calls that share the limit"},
    {"concurrent", &format_natural, AT(LimitFields, concurrent), 0, "0: no limit", "Calls served at once"},
    {"rate", &rate_type, AT(LimitFields, rate), 0, "no limit", "A token bucket"},
    {"perNode", &format_bool, AT(LimitFields, per_node), 0, "false", "Each node has its own"},
    END,
};
static const FormatType limit_type = FORMAT_STRUCT("limit", limit_fields, LimitFields);
static const FormatType limit_list_type = FORMAT_LIST(limit_type);

static const FormatType limits_type = {.name = "limit, or list of limits", .wanted = "a mapping or a list", .read = read_limits, .schema = schema_limits, .item = &limit_type, .size = sizeof(FormatList)};

static const FormatField pool_fields[] = {
    {"zone", &format_string, AT(PoolFields, zone), 0, NULL, "Where the room is: this zone"},
    {"topology", &format_string_map, AT(PoolFields, topology), 0, "everywhere", "Where the room is, by topology keys"},
    {"capacity", &format_quantity, AT(PoolFields, capacity), FORMAT_REQUIRED, NULL, "Room for volumes"},
    END,
};
static const FormatType pool_type = FORMAT_STRUCT("pool", pool_fields, PoolFields);
static const FormatType pools_type = FORMAT_LIST(pool_type);

#define SIZE_AT(member) (AT(DriverFields, volume_size.member) - AT(DriverFields, volume_size))
static const FormatField volume_size_fields[] = {
    {"min", &format_quantity, SIZE_AT(min), 0, "none", "Smaller volumes are refused or made this big"},
    {"max", &format_quantity, SIZE_AT(max), 0, "none", "Bigger volumes are refused"},
    {"step", &format_quantity, SIZE_AT(step), 0, "none", "Sizes are rounded up to a multiple"},
    {"default", &format_quantity, SIZE_AT(def), 0, "1Gi", "When the caller names none"},
    END,
};

static const FormatType volume_size_type = FORMAT_STRUCT("volume size", volume_size_fields, ((DriverFields *)0)->volume_size, .check = volume_size_check);

#define PLUGIN_AT(member) (AT(DriverFields, node_plugin.member) - AT(DriverFields, node_plugin))
static const FormatField node_plugin_fields[] = {
    {"nodeSelector", &format_string_map, PLUGIN_AT(node_selector), 0, "all nodes", "Labels of the nodes that the plugin runs on"},
    {"registersAfter", &format_dist, PLUGIN_AT(registers_after), 0, "registered at the start", "From the start of the kubelet to the plugin's registration"},
    {"livenessPeriod", &format_duration, PLUGIN_AT(liveness_period), 0, "not probed", "Between two liveness probes of its container: five failures in a row, of 3 s each, restart it"},
    {"preregistered", &format_bool, PLUGIN_AT(preregistered), 0, "false", "The CSINode objects of the manifests say so already"},
    END,
};
static const FormatType node_plugin_type = FORMAT_STRUCT("node plugin", node_plugin_fields, ((DriverFields *)0)->node_plugin);

static const char *const lock_words[] = {
    [CSI_LOCK_VOLUME] = "volume", [CSI_LOCK_VOLUME_AND_NODE] = "volume-and-node", [CSI_LOCK_NONE] = "none", NULL,
};
static const FormatType lock_type = FORMAT_ENUM(lock_words);

/* What setDriver can change while the cluster runs. */
#define RUN_TIME_DRIVER_FIELDS \
    {"latency", &latencies_type, AT(DriverFields, latency), 0, "0s", "How long each CSI call takes"}, \
    {"errors", &errors_type, AT(DriverFields, errors), 0, "none", "Calls that fail; the first that applies counts"}, \
    {"limits", &limits_type, AT(DriverFields, limits), 0, "none", "Calls at once and calls a second"}, \
    {"pools", &pools_type, AT(DriverFields, pools), 0, "no limit", "Room for volumes, by place"}, \
    {"attachLimit", &format_natural, AT(DriverFields, attach_limit), 0, "0: none", "Volumes a node takes, as NodeGetInfo tells"}, \
    {"volumeSize", &volume_size_type, AT(DriverFields, volume_size), 0, "any", "Sizes of volumes"}, \
    {"readyAt", &format_duration, AT(DriverFields, ready_at), 0, "0s", "Until then Probe says no"}

/* What a profile can say. */
#define PROFILE_DRIVER_FIELDS \
    RUN_TIME_DRIVER_FIELDS, \
    {"slowdown", &slowdowns_type, AT(DriverFields, slowdown), 0, "0", "How calls in the back end at once slow each other down: of n, each takes n to this power as long as alone; {exponent: 1, undisturbed: 2}: n/2 to this power once n is larger than 2"}, \
    {"attachLimitReported", &format_natural, AT(DriverFields, attach_limit_reported), 0, "attachLimit", "What NodeGetInfo says if it is wrong"}, \
    {"attachRequired", &format_tristate, AT(DriverFields, attach_required), 0, "as its CSIDriver says, else true", "Volumes are attached to nodes; file storage mostly needs it not"}, \
    {"topology", &format_any, AT(DriverFields, topology), 0, "topology.<driver>/zone", "The key of the driver's topology segments; false: volumes are reachable from everywhere"}, \
    {"topologiesPerVolume", &format_count, AT(DriverFields, topologies_per_volume), 0, "1", "Zones a volume lives in at once"}, \
    {"controllerCapabilities", &controller_capabilities_type, AT(DriverFields, controller_capabilities), 0, "create, attach, expand", "Of the controller service, by the CSI spec's names"}, \
    {"nodeCapabilities", &node_capabilities_type, AT(DriverFields, node_capabilities), 0, "stage, stats, expand", "Of the node service"}, \
    {"pluginCapabilities", &plugin_capabilities_type, AT(DriverFields, plugin_capabilities), 0, "controller, topology, online expansion", "Of the identity service"}, \
    {"mutableParameters", &format_strings, AT(DriverFields, mutable_keys), 0, "none", "Names of parameters that ControllerModifyVolume takes"}, \
    {"volumeContext", &format_string_map, AT(DriverFields, volume_context), 0, "none", "Given back by CreateVolume"}, \
    {"publishContext", &format_string_map, AT(DriverFields, publish_context), 0, "none", "Given back by ControllerPublishVolume"}, \
    {"lock", &lock_type, AT(DriverFields, lock), 0, "volume", "What two calls must not share: else the second is ABORTED"}, \
    {"needsSecrets", &format_bool, AT(DriverFields, needs_secrets), 0, "false", "Calls without secrets fail"}, \
    {"randomIds", &format_bool, AT(DriverFields, random_ids), 0, "false", "Volume ids are drawn; else they are the volumes' names"}, \
    {"adoptsUnknownVolumes", &format_bool, AT(DriverFields, adopts_unknown_volumes), 0, "false", "A volume that was never created is taken for a static one"}, \
    {"checksMounts", &format_bool, AT(DriverFields, checks_mounts), 0, "false", "DeleteVolume fails while a node has it mounted"}, \
    {"keepsSnapshotSources", &format_bool, AT(DriverFields, keeps_snapshot_sources), 0, "false", "DeleteVolume fails while there are snapshots of it"}, \
    {"snapshotsTakeRoom", &format_bool, AT(DriverFields, snapshots_take_room), 0, "false", "Snapshots count in the pools"}, \
    {"abortsWithCaller", &format_bool, AT(DriverFields, aborts_with_caller), 0, "false", "A call is undone when its caller gives up"}, \
    {"vendorVersion", &format_string, AT(DriverFields, vendor_version), 0, "1.0.0", "As GetPluginInfo tells"}, \
    {"sidecars", &sidecars_type, AT(DriverFields, sidecars), 0, "all, with default flags", "The real flags under their real names; false: it does not run"}, \
    {"nodePlugin", &node_plugin_type, AT(DriverFields, node_plugin), 0, NULL, "The driver's part on the nodes"}

static const FormatField driver_fields[] = {
    {"name", &name_type, AT(DriverFields, name), FORMAT_REQUIRED, NULL, "As in StorageClass.provisioner"},
    {"profile", &format_string, AT(DriverFields, profile), 0, "none", "Name or path of a profile; the fields below it win"},
    {"fromManifest", &format_string, AT(DriverFields, from_manifest), 0, "none", "A file of the driver's Deployment: sidecars and flags are read from its containers"},
    PROFILE_DRIVER_FIELDS,
    END,
};

static const FormatField set_driver_fields[] = {
    {"name", &format_string, AT(DriverFields, name), 0, "the only driver", "Which driver"},
    RUN_TIME_DRIVER_FIELDS,
    END,
};

static const FormatField profile_driver_fields[] = {
    PROFILE_DRIVER_FIELDS,
    END,
};

const FormatType scenario_driver_format = {.name = "driver", .wanted = "a mapping", .read = read_driver, .schema = format_schema_struct, .fields = driver_fields, .size = sizeof(DriverFields)};
const FormatType scenario_set_driver_format = {.name = "driver change", .wanted = "a mapping", .read = read_mapping, .schema = format_schema_struct, .fields = set_driver_fields, .size = sizeof(json_t *)};
const FormatType scenario_profile_format = {.name = "profile", .wanted = "a mapping", .read = read_mapping, .schema = format_schema_struct, .fields = profile_driver_fields, .size = sizeof(json_t *)};
static const FormatType drivers_type = FORMAT_LIST(scenario_driver_format);

/* ---- Nodes ---- */

#define NODE_AT(member) AT(NodeFields, nodes.member)
static const char *const limit_words[] = {"unlimited", "known", NULL};
static const FormatType limit_knowledge_type = FORMAT_ENUM(limit_words);

#define SCALER_AT(member) NODE_AT(autoscaler.member) - NODE_AT(autoscaler)
static const FormatField autoscaler_fields[] = {
    {"max", &format_count, SCALER_AT(max), FORMAT_REQUIRED, NULL, "Nodes of the group at most"},
    {"scanInterval", &format_duration, SCALER_AT(scan_interval), 0, "10s", "Between two looks at pods that no node takes"},
    {"delay", &format_dist, SCALER_AT(delay), 0, "0s", "From the decision until the machine has joined"},
    {"attachLimits", &limit_knowledge_type, SCALER_AT(knows_limits), 0, "unlimited", "What it thinks of volumes on a node that is not there yet: unlimited, as the real one without a CSINode, or known"},
    END,
};
static const FormatType autoscaler_type = FORMAT_STRUCT("autoscaler", autoscaler_fields, ((ScenarioNodes *)0)->autoscaler);

static const FormatField node_fields[] = {
    {"count", &format_count, NODE_AT(count), 0, "1", "How many nodes"},
    {"name", &format_string, NODE_AT(name), FORMAT_REQUIRED, NULL, "With %d for the number"},
    {"first", &format_natural, NODE_AT(first), 0, "0", "The first node's number"},
    {"zones", &format_strings, NODE_AT(zones), 0, "none", "Dealt round: label topology.kubernetes.io/zone"},
    {"labels", &format_string_map, NODE_AT(labels), 0, "none", "More labels"},
    {"annotations", &format_string_map, NODE_AT(annotations), 0, "none", "Annotations"},
    {"taints", &format_list_any, NODE_AT(taints), 0, "none", "As in a Node"},
    {"allocatable", &format_resources, NODE_AT(allocatable), 0, "cpu: 8, memory: 32Gi, pods: 110", "As in a Node"},
    {"kubelet", &kubelet_flags, NODE_AT(kubelet), 0, "defaults", "Fields of KubeletConfiguration"},
    {"autoscaler", &autoscaler_type, NODE_AT(autoscaler), 0, "none", "More nodes of this kind come when pods are unschedulable"},
    END,
};

static const FormatType node_type = FORMAT_STRUCT("nodes", node_fields, NodeFields, .init = node_init, .check = node_check);
static const FormatType nodes_type = FORMAT_LIST(node_type);

/* ---- Workload ---- */

static const FormatField create_fields[] = {
    {"manifest", &format_any, AT(CreateFields, manifest), FORMAT_REQUIRED, NULL, "File name, object, or list of these: created one after the other; a Node is a machine that joins"},
    {"count", &format_natural, AT(CreateFields, count), 0, "once, names as they are", "So many copies: name-0, name-1, ...; references between them follow"},
    {"interarrival", &format_dist, AT(CreateFields, interarrival), 0, "all at once", "Time between two copies; exponential: they come at random (Poisson)"},
    {"daily", &format_list_any, AT(CreateFields, daily), 0, "evenly", "24 numbers: how many times as fast copies arrive in each hour of the day, from midnight; the run begins at midnight"},
    {"for", &format_duration, AT(CreateFields, lasts), 0, "until all are there", "No copy arrives later than so long after the first"},
    {"lifetime", &format_dist, AT(CreateFields, lifetime), 0, "for ever", "How long after its last object a copy is deleted again, the last object first"},
    {"keep", &format_natural, AT(CreateFields, keep), 0, "all", "When there are more copies than so many, the oldest is deleted: churn at the rate of the arrivals"},
    END,
};

static const FormatType create_type = FORMAT_STRUCT("create", create_fields, CreateFields, .init = create_init, .check = create_check);

#define TARGET_FIELDS(kinds) \
    {"kind", &format_string, AT(TargetFields, kind), FORMAT_REQUIRED, NULL, kinds}, \
    {"namespace", &format_string, AT(TargetFields, namespace), 0, "default", "Of the object"}

static const FormatType grace_type = {.name = "whole number", .wanted = "a whole number of seconds", .read = format_read_integer, .schema = format_schema_integer, .size = sizeof(int64_t), .min = 0, .max = 1e6};

static const FormatField delete_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &format_string, AT(TargetFields, name), 0, NULL, "With * and ? of several objects; of a PersistentVolume this or volumeOfClaim"},
    {"volumeOfClaim", &format_string, AT(TargetFields, volume_of_claim), 0, NULL, "Of kind PersistentVolume: that of the claim of this name"},
    {"gracePeriodSeconds", &grace_type, AT(TargetFields, grace_s), 0, "the object's", "As kubectl delete --grace-period"},
    END,
};
static const FormatType delete_type = FORMAT_STRUCT("delete", delete_fields, TargetFields, .init = target_init);

static const FormatField patch_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &format_string, AT(TargetFields, name), 0, NULL, "Of the object; of a Node this or nodeOfPod"},
    {"nodeOfPod", &format_string, AT(TargetFields, node_of_pod), 0, NULL, "Of kind Node: the node that the pod of this name (* and ? match) is on by then"},
    {"patch", &format_object, AT(TargetFields, patch), FORMAT_REQUIRED, NULL, "A merge patch"},
    END,
};
static const FormatType patch_type = FORMAT_STRUCT("patch", patch_fields, TargetFields, .init = target_init);

static const FormatField scale_fields[] = {
    {"kind", &format_string, AT(TargetFields, kind), 0, "StatefulSet", "Or Deployment, ReplicaSet"},
    {"namespace", &format_string, AT(TargetFields, namespace), 0, "default", "Of the object"},
    {"name", &format_string, AT(TargetFields, name), FORMAT_REQUIRED, NULL, "Of the object"},
    {"replicas", &format_natural, AT(TargetFields, replicas), FORMAT_REQUIRED, NULL, "How many from now on"},
    END,
};
static const FormatField drain_fields[] = {
    {"node", &format_string, AT(DrainFields, node), 0, NULL, "Its name; this or nodeOfPod"},
    {"nodeOfPod", &format_string, AT(DrainFields, node_of_pod), 0, NULL, "The node that the pod of this name (* and ? match) is on by then"},
    {"ignoreDaemonSets", &format_bool, AT(DrainFields, ignore_daemon_sets), 0, "false", "Leave pods of DaemonSets; else nothing is evicted where there are some"},
    {"deleteEmptyDirData", &format_bool, AT(DrainFields, delete_empty_dir), 0, "false", "Evict pods with an emptyDir as well; else nothing is evicted where there are some"},
    {"force", &format_bool, AT(DrainFields, force), 0, "false", "Evict pods that nobody controls as well; else nothing is evicted where there are some"},
    {"gracePeriodSeconds", &grace_type, AT(DrainFields, grace_s), 0, "the pod's", "As kubectl drain --grace-period"},
    {"timeout", &format_duration, AT(DrainFields, timeout), 0, "0s: none", "After this time it gives up"},
    END,
};
static const FormatType drain_type = FORMAT_STRUCT("drain", drain_fields, DrainFields, .init = drain_init, .check = drain_check);

static const FormatType scale_type = FORMAT_STRUCT("scale", scale_fields, TargetFields, .init = target_init);

static const FormatField workload_fields[] = {
    {"at", &format_duration, AT(ActionFields, at), 0, "0s", "When"},
    {"create", &create_type, AT(ActionFields, create), 0, NULL, "Objects appear"},
    {"delete", &delete_type, AT(ActionFields, delete), 0, NULL, "Objects are deleted, as kubectl delete does"},
    {"patch", &patch_type, AT(ActionFields, patch), 0, NULL, "An object is changed"},
    {"scale", &scale_type, AT(ActionFields, scale), 0, NULL, "A StatefulSet, Deployment or ReplicaSet grows or shrinks"},
    {"drain", &drain_type, AT(ActionFields, drain), 0, NULL, "A node's pods are evicted, as kubectl drain does"},
    {"taint", &scenario_taint_format, AT(ActionFields, taint), 0, NULL, "A node is tainted, or no more, as kubectl taint does"},
    {"cordon", &scenario_cordon_format, AT(ActionFields, cordon), 0, NULL, "A node takes no new pods, as kubectl cordon does"},
    {"uncordon", &scenario_uncordon_format, AT(ActionFields, uncordon), 0, NULL, "It takes pods again"},
    {"setDriver", &scenario_set_driver_format, AT(ActionFields, set_driver), 0, NULL, "A driver behaves otherwise from now on"},
    END,
};
static const FormatType action_type = FORMAT_STRUCT("action", workload_fields, ActionFields, .init = action_init, .check = workload_check);
static const FormatType workload_type = FORMAT_LIST(action_type);

static const FormatField fault_fields[] = {
    {"at", &format_duration, AT(ActionFields, at), 0, "0s", "When"},
    {"component", &format_string, AT(ActionFields, component), 0, NULL, "The process that it happens to, or kube-apiserver"},
    {"driver", &format_string, AT(ActionFields, driver), 0, "the only driver", "The driver that it happens to; of a component: whose sidecar"},
    {"node", &format_string, AT(ActionFields, node), 0, NULL, "The node that it happens to; of a component or driver: on which"},
    {"zone", &format_string, AT(ActionFields, zone), 0, NULL, "The same for all nodes of this zone"},
    {"replica", &format_natural, AT(ActionFields, replica), 0, "who leads, else 0", "Of several replicas: 0, 1, ..."},
    {"nodeOfPod", &format_string, AT(ActionFields, pod_of_node), 0, NULL, "The node that the pod of this name (* and ? match) is on by then"},
    {"do", &format_string, AT(ActionFields, what), FORMAT_REQUIRED, NULL, "What happens: see Faults"},
    {"restartAfter", &format_duration, AT(ActionFields, restart_after), 0, "never; reboot: 1m; restart of a driver: 1s", "What died is started again after this time"},
    {"for", &format_duration, AT(ActionFields, lasts), 0, "for ever", "How long it lasts"},
    {"factor", &format_rate, AT(ActionFields, factor), 0, NULL, "slow: how many times slower"},
    {"seats", &format_count, AT(ActionFields, seats), 0, NULL, "limit-seats: requests that the API server serves at once (600 in real clusters)"},
    {"claim", &format_string, AT(ActionFields, claim), 0, "all", "lose-volumes: of the claims of this name (* and ? match)"},
    END,
};
static const FormatType fault_type = FORMAT_STRUCT("fault", fault_fields, ActionFields, .init = action_init, .check = action_check);
static const FormatType faults_type = FORMAT_LIST(fault_type);

/* ---- Expectations ---- */

static const char *const stages[] = {
#define STAGE_WORD(member, name, meaning) name,
    STAGES(STAGE_WORD)
#undef STAGE_WORD
    NULL,
};

static const FormatType stage_type = {.name = "word", .wanted = "a stage", .read = read_word, .schema = format_schema_enum, .words = stages, .size = sizeof(char *)};

static const FormatField slo_fields[] = {
    {"stage", &stage_type, AT(SloFields, stage), FORMAT_REQUIRED, NULL, "Of the path to a ready pod and back"},
    {"quantile", &format_quantile, AT(SloFields, quantile), 0, "1: the longest", "Of all that passed through the stage"},
    {"below", &format_duration, AT(SloFields, below), FORMAT_REQUIRED, NULL, "It must take less than this"},
    END,
};

static const FormatType slo_type = FORMAT_STRUCT("slo", slo_fields, SloFields, .init = slo_init, .check = slo_check);
static const FormatType slos_type = FORMAT_LIST(slo_type);

static const FormatField range_fields[] = {
    {"min", &format_integer, AT(CountFields, min), 0, "0", "At least"},
    {"max", &format_integer, AT(CountFields, max), 0, "any", "At most"},
    END,
};

static const FormatType range_type = FORMAT_STRUCT("range", range_fields, CountFields);

static const FormatType count_type = {.name = "whole number, or {min, max}", .wanted = "a whole number or a range", .read = read_count, .schema = schema_count, .size = sizeof(CountFields)};

#define PHASES(of, ...) \
    static const char *const of##_phases[] = {__VA_ARGS__, NULL}; \
    static const FormatType of##_phase = {.name = "word", .wanted = "a phase", .read = read_word, .schema = format_schema_enum, .words = of##_phases, .size = sizeof(char *)}

PHASES(pod, "Pending", "Running", "Succeeded", "Failed", "Unknown");
PHASES(claim, "Pending", "Bound", "Lost");
PHASES(volume, "Pending", "Available", "Bound", "Released", "Failed");

#define EXPECTED_COUNT {"count", &count_type, AT(ExpectedFields, count), FORMAT_REQUIRED, NULL, "How many there should be"}
#define EXPECTED_NAME {"name", &format_string, AT(ExpectedFields, name), 0, "any", "With * and ? for several"}

static const FormatField expected_pods[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &pod_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"ready", &format_tristate, AT(ExpectedFields, ready), 0, "any", "Condition Ready"},
    {"reason", &format_string, AT(ExpectedFields, reason), 0, "any", "A part of the message of condition PodScheduled, or of the status' reason"},
    {"node", &format_string, AT(ExpectedFields, node), 0, "any", "Pods of this node"},
    {"zone", &format_string, AT(ExpectedFields, zone), 0, "any", "Pods of this zone's nodes"},
    END,
};
static const FormatField expected_claims[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &claim_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"capacity", &format_quantity, AT(ExpectedFields, capacity), 0, "any", "status.capacity.storage"},
    {"resizeStatus", &format_string, AT(ExpectedFields, resize_status), 0, "any", "status.allocatedResourceStatuses.storage; none: not set"},
    END,
};
static const FormatField expected_volumes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &volume_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"capacity", &format_quantity, AT(ExpectedFields, capacity), 0, "any", "spec.capacity.storage"},
    END,
};
static const FormatField expected_attachments[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"node", &format_string, AT(ExpectedFields, node), 0, "any", "Of this node"},
    {"attached", &format_tristate, AT(ExpectedFields, ready), 0, "any", "status.attached"},
    END,
};
static const FormatField expected_nodes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    END,
};
static const FormatField expected_jobs[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &format_string, AT(ExpectedFields, phase), 0, "any", "Running, Suspended, Complete, Failed"},
    END,
};
static const FormatField expected_snapshots[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"ready", &format_tristate, AT(ExpectedFields, ready), 0, "any", "status.readyToUse"},
    END,
};
static const FormatField expected_driver_volumes[] = {
    EXPECTED_COUNT,
    {"driver", &format_string, AT(ExpectedFields, driver), 0, "the only driver", "Whose back end is looked into"},
    END,
};

static const FormatType expected_pods_type = FORMAT_STRUCT("pods", expected_pods, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_claims_type = FORMAT_STRUCT("claims", expected_claims, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_volumes_type = FORMAT_STRUCT("volumes", expected_volumes, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_attachments_type = FORMAT_STRUCT("attachments", expected_attachments, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_nodes_type = FORMAT_STRUCT("nodes", expected_nodes, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_jobs_type = FORMAT_STRUCT("jobs", expected_jobs, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_snapshots_type = FORMAT_STRUCT("snapshots", expected_snapshots, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_driver_volumes_type = FORMAT_STRUCT("volumes of a driver", expected_driver_volumes, ExpectedFields, .init = expected_init, .check = expected_check);

static const FormatField expect_fields[] = {
    {"at", &format_duration, AT(ExpectFields, at), 0, "the end", "When"},
    {"pods", &expected_pods_type, AT(ExpectFields, pods), 0, NULL, "Pods"},
    {"claims", &expected_claims_type, AT(ExpectFields, claims), 0, NULL, "PersistentVolumeClaims"},
    {"volumes", &expected_volumes_type, AT(ExpectFields, volumes), 0, NULL, "PersistentVolumes"},
    {"attachments", &expected_attachments_type, AT(ExpectFields, attachments), 0, NULL, "VolumeAttachments"},
    {"nodes", &expected_nodes_type, AT(ExpectFields, nodes), 0, NULL, "Nodes"},
    {"jobs", &expected_jobs_type, AT(ExpectFields, jobs), 0, NULL, "Jobs"},
    {"snapshots", &expected_snapshots_type, AT(ExpectFields, snapshots), 0, NULL, "VolumeSnapshots"},
    {"driverVolumes", &expected_driver_volumes_type, AT(ExpectFields, driver_volumes), 0, NULL, "Volumes that the driver's back end has"},
    END,
};

static const FormatType expect_type = FORMAT_STRUCT("expectation", expect_fields, ExpectFields, .init = expect_init, .check = expect_check);
static const FormatType expects_type = FORMAT_LIST(expect_type);

/* ---- The whole ---- */

#define KUBERNETES_AT(member) (AT(SpecFields, kubernetes.member) - AT(SpecFields, kubernetes))
static const FormatField kubernetes_fields[] = {
    {"version", &format_string, KUBERNETES_AT(version), 0, "1.32", "In quotes: 1.30 is a number"},
    {"featureGates", &format_bool_map, KUBERNETES_AT(feature_gates), 0, "the version's defaults", "By their names"},
    {"unlimitedQPS", &format_bool, KUBERNETES_AT(unlimited_qps), 0, "false", "No client throttling anywhere"},
    END,
};
static const FormatType kubernetes_type = FORMAT_STRUCT("kubernetes", kubernetes_fields, ((SpecFields *)0)->kubernetes);

static const FormatType until_type = {.name = "duration, or idle", .wanted = "a duration, or \"idle\"", .read = read_until, .schema = schema_until, .size = sizeof(json_t *)};

static const FormatField spec_fields[] = {
    {"description", &format_text, AT(SpecFields, description), 0, NULL, "What it shows"},
    {"seed", &format_integer, AT(SpecFields, seed), 0, "1", "Of all that is drawn"},
    {"until", &until_type, AT(SpecFields, until), 0, "idle", "The end, in virtual time; idle: when nothing but Events and heartbeats changed for a while"},
    {"idleFor", &format_duration, AT(SpecFields, idle_for), 0, "10m", "How long that while is"},
    {"kubernetes", &kubernetes_type, AT(SpecFields, kubernetes), 0, NULL, "The cluster's version"},
    {"timing", &format_string, AT(SpecFields, timing), 0, "timing-1.32", "Profile of the machinery's own times"},
    {"nodes", &nodes_type, AT(SpecFields, nodes), 0, "those of the manifests", "Nodes, in groups"},
    {"drivers", &drivers_type, AT(SpecFields, drivers), 0, "none", "CSI drivers"},
    {"components", &components_type, AT(SpecFields, components), 0, "defaults", "Flags of the control plane, by their real names"},
    {"manifests", &format_any, AT(SpecFields, manifests), 0, "none", "Files of objects that exist from the start, beside the documents of this file"},
    {"workload", &workload_type, AT(SpecFields, workload), 0, "none", "What happens from outside"},
    {"faults", &faults_type, AT(SpecFields, faults), 0, "none", "What breaks"},
    {"slo", &slos_type, AT(SpecFields, slo), 0, "none", "Times that must be kept"},
    {"expect", &expects_type, AT(SpecFields, expect), 0, "none", "What must be there, and when"},
    END,
};

static const FormatType spec_type = FORMAT_STRUCT("spec", spec_fields, SpecFields, .init = spec_init);

#define METADATA_AT(member) (AT(ScenarioFields, metadata.member) - AT(ScenarioFields, metadata))
static const FormatField metadata_fields[] = {
    {"name", &format_string, METADATA_AT(name), FORMAT_REQUIRED, NULL, "Of the scenario"},
    {"labels", &format_string_map, METADATA_AT(labels), 0, NULL, "Not read"},
    {"annotations", &format_string_map, METADATA_AT(annotations), 0, NULL, "Not read"},
    END,
};
static const FormatType metadata_type = FORMAT_STRUCT("metadata", metadata_fields, ((ScenarioFields *)0)->metadata);

static const FormatField scenario_fields[] = {
    {"apiVersion", &format_string, AT(ScenarioFields, api_version), FORMAT_REQUIRED, NULL, "kvolsim.io/v1"},
    {"kind", &format_string, AT(ScenarioFields, kind), FORMAT_REQUIRED, NULL, "Scenario"},
    {"metadata", &metadata_type, AT(ScenarioFields, metadata), FORMAT_REQUIRED, NULL, "Its name"},
    {"spec", &spec_type, AT(ScenarioFields, spec), FORMAT_REQUIRED, NULL, "What it is about"},
    END,
};
const FormatType scenario_format = FORMAT_STRUCT("Scenario", scenario_fields, ScenarioFields);

/* models/profiles/timing-*.yaml */
static const FormatField timing_fields[] = {
    {"write", &format_dist, AT(Timing, write), FORMAT_REQUIRED, NULL, "A write, arrival to response"},
    {"think", &format_dist, AT(Timing, think), FORMAT_REQUIRED, NULL, "A component's own time before a request or call"},
    {"watch", &format_dist, AT(Timing, watch), FORMAT_REQUIRED, NULL, "A watch event, from the end of the response"},
    {"createFactor", &format_rate, AT(Timing, create_factor), FORMAT_REQUIRED, NULL, "Of write, for POST"},
    {"updateFactor", &format_rate, AT(Timing, update_factor), FORMAT_REQUIRED, NULL, "For PUT"},
    {"patchFactor", &format_rate, AT(Timing, patch_factor), FORMAT_REQUIRED, NULL, "For PATCH"},
    {"deleteFactor", &format_rate, AT(Timing, delete_factor), FORMAT_REQUIRED, NULL, "For DELETE"},
    {"readFactor", &format_rate, AT(Timing, read_factor), FORMAT_REQUIRED, NULL, "For GET and LIST"},
    {"notFoundFactor", &format_rate, AT(Timing, not_found_factor), FORMAT_REQUIRED, NULL, "For what is answered with 404"},
    {"eventFactor", &format_rate, AT(Timing, event_factor), FORMAT_REQUIRED, NULL, "For an Event"},
    {"stallRate", &format_rate, AT(Timing, stall_rate), FORMAT_REQUIRED, NULL, "From so many requests a second on, one may be held up"},
    {"stallChance", &format_probability, AT(Timing, stall_chance), FORMAT_REQUIRED, NULL, "The chance of that"},
    {"stall", &format_dist, AT(Timing, stall), FORMAT_REQUIRED, NULL, "How long then"},
    {"watchOrder", &format_probability, AT(Timing, watch_order), FORMAT_REQUIRED, NULL, "The chance that a watch event waits for those of other kinds sent to its client before"},
    {"watchLead", &format_duration, AT(Timing, watch_lead), FORMAT_REQUIRED, NULL, "How long before the end of the response a write is committed at most"},
    END,
};
const FormatType scenario_timing_format = FORMAT_STRUCT("timing", timing_fields, Timing);

/* clang-format on */

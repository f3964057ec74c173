/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of drivers, of profiles and of setDriver: first the readers of special values, then
 * the tables. Most rows have their place in CsiModelledOptions itself, so a field is read right
 * into the options that a run uses. The three tables share their rows by macros, since a profile
 * has all that a driver has but its name, and setDriver has what can change during a run.
 * read_driver() notes only where a driver stands: driver.c reads the profile first, then the
 * driver's fields over it. */
#include "models/api/fields.h"
#include "models/csi/flex-call.h"
#include "scenario-private.h"

static const FileType limit_type, limit_list_type;

static gboolean
read_method_name(SchemaReader *reader, const json_t *value, CsiMethod *method)
{
    const char *names[CSI_N_METHODS];

    if (!json_is_string(value)) {
        schema_fault(reader, "such as CreateVolume", "must be the name of a CSI call, not %s",
                     schema_value_words(value));
        return FALSE;
    }
    FlexCall call;
    if (csi_method_parse(json_string_value(value), method))
        return TRUE;
    if (flex_call_parse(json_string_value(value), &call)) {
        *method = flex_call_method(call);
        return TRUE;
    }
    for (CsiMethod i = 0; i < CSI_N_METHODS; i++)
        names[i] = csi_method_name(i);
    g_autofree char *nearest = name_hint(json_string_value(value), names, CSI_N_METHODS);
    schema_fault(reader, nearest, "there is no CSI call \"%s\"", json_string_value(value));
    return FALSE;
}

static void
read_method_mask(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    CsiMethod method;

    if (!schema_expect(reader, type, value, JSON_ARRAY))
        return;
    for (gsize i = 0; i < json_array_size(value); i++) {
        SchemaPlace place = schema_enter_item(reader, value, i);
        if (read_method_name(reader, json_array_get(value, i), &method))
            *(uint32_t *)target |= UINT32_C(1) << method;
        schema_leave(reader, place);
    }
}

static json_t *
schema_json_method(const FileType *type)
{
    json_t *names = json_array();

    (void)type;
    for (CsiMethod i = 0; i < CSI_N_METHODS; i++)
        json_array_append_new(names, json_string(csi_method_name(i)));
    for (FlexCall i = 0; i < FLEX_N_CALLS; i++)
        json_array_append_new(names, json_string(flex_call_name(i)));
    return json_pack("{s:o}", "enum", names);
}

static void
read_method(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    read_method_name(reader, value, target);
}

static void
read_code(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    const char *names[CSI_N_CODES];

    (void)type;
    if (!json_is_string(value)) {
        schema_fault(reader, "such as INTERNAL", "must be a gRPC code, not %s",
                     schema_value_words(value));
        return;
    }
    if (csi_code_parse(json_string_value(value), target)) {
        if (*(CsiCode *)target == CSI_OK)
            schema_fault(reader, NULL, "OK is no error");
        return;
    }
    for (CsiCode i = 0; i < CSI_N_CODES; i++)
        names[i] = csi_code_name(i);
    g_autofree char *nearest = name_hint(json_string_value(value), names, CSI_N_CODES);
    schema_fault(reader, nearest, "there is no gRPC code \"%s\"", json_string_value(value));
}

static json_t *
schema_json_code(const FileType *type)
{
    json_t *names = json_array();

    (void)type;
    for (CsiCode i = CSI_OK + 1; i < CSI_N_CODES; i++)
        json_array_append_new(names, json_string(csi_code_name(i)));
    return json_pack("{s:o}", "enum", names);
}

/* ---- Names ---- */

static void
read_domain_name(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    const char *text = NULL;

    (void)type;
    schema_read(reader, &schema_string, value, &text);
    if (text == NULL)
        return;
    /* API-139; two parts name a plugin within Kubernetes (INT-2) */
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    const char *fault = name_fault_subdomain(parts[0]);
    if (fault == NULL && parts[1] != NULL)
        fault = name_fault_subdomain(parts[1]);
    if (fault != NULL)
        schema_fault(reader, fault, "\"%s\" is not a valid name", text);
    else
        *(const char **)target = text;
}

/* Reads a mapping from latency names to items of @item_type, each with @item_bytes in @target. */
static void
read_by_latency(SchemaReader *reader,
                const char *example,
                const json_t *value,
                const FileType *item_type,
                size_t item_bytes,
                void *target)
{
    const char *names[CSI_N_LATENCIES];
    const char *name;
    json_t *member;

    if (!json_is_object(value)) {
        schema_fault(reader, example, "must be a mapping, not %s", schema_value_words(value));
        return;
    }
    for (CsiLatency i = 0; i < CSI_N_LATENCIES; i++)
        names[i] = csi_latency_name(i);
    json_object_foreach((json_t *)value, name, member) {
        CsiLatency which;
        FlexCall call;
        if (flex_call_parse(name, &call)) {
            which = (CsiLatency)flex_call_method(call);
        } else if (!csi_latency_parse(name, &which)) {
            g_autofree char *nearest = name_hint(name, names, CSI_N_LATENCIES);
            schema_fault_member(reader, value, name, nearest, "there is no CSI call of this name");
            continue;
        }
        SchemaPlace place = schema_enter_member(reader, value, name);
        schema_read(reader, item_type, member, (char *)target + which * item_bytes);
        schema_leave(reader, place);
    }
}

static void
read_latencies(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    read_by_latency(reader, "such as {CreateVolume: 1s}", value, &schema_dist, sizeof(SimDist *),
                    target);
}

static const FileField slowdown_fields[] = {
    {"exponent",            &schema_exponent, offsetof(CsiSlowdown, exponent), SCHEMA_REQUIRED, NULL,
     "Of n calls at once, each takes n / undisturbed to this power as long as alone"},
    {"undisturbed", &schema_rate, offsetof(CsiSlowdown, undisturbed), 0, "1",
     "So many calls are in nobody's way"},
    {0     },
};
static const FileType slowdown_struct_type =
    SCHEMA_STRUCT("slowdown", slowdown_fields, CsiSlowdown);

/* An exponent alone, or a mapping. */
static void
read_slowdown(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    if (json_is_object(value))
        schema_read(reader, &slowdown_struct_type, value, target);
    else
        schema_read(reader, &schema_exponent, value, &((CsiSlowdown *)target)->exponent);
}

static json_t *
schema_json_slowdown(const FileType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", schema_json(&schema_exponent),
                     schema_json_struct(&slowdown_struct_type));
}

static const FileType slowdown_type = {.name = "slowdown",
                                       .wanted = "an exponent or a mapping",
                                       .read = read_slowdown,
                                       .schema = schema_json_slowdown,
                                       .size = sizeof(CsiSlowdown)};

static void
read_slowdowns(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    read_by_latency(reader, "such as {CreateVolume: 0.5}", value, &slowdown_type,
                    sizeof(CsiSlowdown), target);
}

static json_t *
schema_json_by_latency(const FileType *item_type)
{
    json_t *properties = json_object();

    for (CsiLatency i = 0; i < CSI_N_LATENCIES; i++)
        json_object_set_new(properties, csi_latency_name(i), schema_json(item_type));
    for (FlexCall i = 0; i < FLEX_N_CALLS; i++)
        json_object_set_new(properties, flex_call_name(i), schema_json(item_type));
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static json_t *
schema_json_latencies(const FileType *type)
{
    (void)type;
    return schema_json_by_latency(&schema_dist);
}

static json_t *
schema_json_slowdowns(const FileType *type)
{
    (void)type;
    return schema_json_by_latency(&slowdown_type);
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

static const Capability group_capabilities[] = {
    {"CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT", CSI_GROUP_SNAPSHOT},
    {NULL,                                      0                 },
};

static const Capability plugin_capabilities[] = {
    {"CONTROLLER_SERVICE",               CSI_PLUGIN_CONTROLLER_SERVICE              },
    {"GROUP_CONTROLLER_SERVICE",         CSI_PLUGIN_GROUP_CONTROLLER_SERVICE        },
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

const char *
scenario_capability_name(CsiService service, uint32_t bit)
{
    static const Capability *const tables[] = {
        [CSI_IDENTITY] = plugin_capabilities,
        [CSI_CONTROLLER] = controller_capabilities,
        [CSI_NODE] = node_capabilities,
    };

    for (const Capability *row = tables[service]; row->name != NULL; row++)
        if (row->bit == bit)
            return row->name;
    g_assert_not_reached();
}

static void
read_capability_list(SchemaReader *reader,
                     const Capability *table,
                     const json_t *value,
                     uint32_t *mask)
{
    const char *names[32];
    unsigned n_names = 0;

    if (!json_is_array(value)) {
        schema_fault(reader, NULL, "must be a list, not %s", schema_value_words(value));
        return;
    }
    for (; table[n_names].name != NULL; n_names++)
        names[n_names] = table[n_names].name;
    *mask = CAPABILITIES_GIVEN;
    for (gsize i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        uint32_t bit = capability_bit(table, name);
        SchemaPlace place = schema_enter_item(reader, value, i);
        g_autofree char *nearest =
            bit == 0 && name != NULL ? name_hint(name, names, n_names) : NULL;
        if (bit == 0)
            schema_fault(reader, nearest, "\"%s\" is no capability", name != NULL ? name : "");
        *mask |= bit;
        schema_leave(reader, place);
    }
}

static json_t *
schema_json_capability_list(const Capability *table)
{
    json_t *words = json_array();

    for (; table->name != NULL; table++)
        json_array_append_new(words, json_string(table->name));
    return json_pack("{s:s, s:{s:o}}", "type", "array", "items", "enum", words);
}

#define CAPABILITIES(of)                                                                           \
    static void read_##of(SchemaReader *reader, const FileType *type, const json_t *value,         \
                          void *target)                                                            \
    {                                                                                              \
        (void)type;                                                                                \
        read_capability_list(reader, of, value, target);                                           \
    }                                                                                              \
    static json_t *schema_##of(const FileType *type)                                               \
    {                                                                                              \
        (void)type;                                                                                \
        return schema_json_capability_list(of);                                                    \
    }                                                                                              \
    static const FileType of##_type = {.name = "list of capabilities",                             \
                                       .wanted = "a list",                                         \
                                       .read = read_##of,                                          \
                                       .schema = schema_##of,                                      \
                                       .size = sizeof(uint32_t)}

CAPABILITIES(controller_capabilities);
CAPABILITIES(node_capabilities);
CAPABILITIES(group_capabilities);
CAPABILITIES(plugin_capabilities);

static void
error_init(void *target)
{
    *(CsiModelledError *)target = (CsiModelledError){.method = CSI_N_METHODS, .probability = 1};
}

static void
error_check(SchemaReader *reader, const json_t *value, void *target)
{
    const CsiModelledError *error = target;

    if (error->until != 0 && error->until <= error->from)
        schema_fault_member(reader, value, "until", NULL, "is not after \"from\"");
}

static void
quota_init(void *target)
{
    *(CsiModelledQuota *)target = (CsiModelledQuota){.code = CSI_RESOURCE_EXHAUSTED};
}

/* One limit may stand without a list. */
static void
read_limits(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    SchemaList *list = target;

    (void)type;
    if (!json_is_object(value)) {
        schema_read(reader, &limit_list_type, value, target);
        return;
    }
    list->n = 1;
    list->items = schema_alloc(reader, sizeof(LimitFields));
    schema_read(reader, &limit_type, value, list->items);
}

static json_t *
schema_json_limits(const FileType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", schema_json_struct(&limit_type),
                     schema_json_list(&limit_list_type));
}

static void
volume_size_check(SchemaReader *reader, const json_t *value, void *target)
{
    const int64_t *size = target; /* min, max, step, default */

    if (size[1] != 0 && size[0] > size[1])
        schema_fault_member(reader, value, "min", NULL, "is greater than \"max\"");
}

static void
usage_check(SchemaReader *reader, const json_t *value, void *target)
{
    const char *fault = volume_filling_fault(target);

    (void)value;
    if (fault != NULL)
        schema_fault(reader, NULL, "%s", fault);
}

static void
plugin_check(SchemaReader *reader, const json_t *value, void *target)
{
    const char *key = ((const DriverFields *)((char *)target - offsetof(DriverFields, node_plugin)))
                          ->node_plugin.removes_taint;
    const char *fault = key == NULL ? NULL : name_fault_qualified(key);

    if (fault != NULL)
        schema_fault_member(reader, value, "removesTaint", fault, "\"%s\" is no key of a taint",
                            key);
}

void
scenario_driver_fields_init(void *target)
{
    DriverFields *fields = target;

    *fields = (DriverFields){.attach_required = -1};
    csi_modelled_options_init(&fields->model);
}

/* driver.c reads the rest, after the profile. */
static void
read_driver(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    DriverFields *fields = target;

    if (!json_is_object(value)) {
        schema_fault(reader, NULL, "must be %s, not %s", type->wanted, schema_value_words(value));
        return;
    }
    fields->source = value;
    fields->at = reader->at;
    fields->path = schema_intern(reader, reader->path->str);
}

/* ==== The tables: a row for each field ==== */

/* clang-format off */

#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const FileType method_mask_type = SCHEMA_TEXT("list of CSI calls", "a list", read_method_mask,
    SCHEMA_OF_STRINGS, uint32_t, .hint = "such as [CreateVolume, DeleteVolume]");
static const FileType method_type = SCHEMA_TYPE("CSI call", "a CSI call", read_method, schema_json_method,
    CsiMethod);

static const FileType code_type = SCHEMA_TYPE("gRPC code", "a gRPC code", read_code, schema_json_code,
    CsiCode);

static const FileType name_type = SCHEMA_TEXT("name", "a name", read_domain_name,
    "{\"type\": \"string\", \"pattern\": \"^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$\", \"maxLength\": 253}", char *);

static const FileType latencies_type = {.name = "distributions by CSI call", .wanted = "a mapping",
    .read = read_latencies, .schema = schema_json_latencies};
static const FileType slowdowns_type = {.name = "slowdowns by CSI call", .wanted = "a mapping",
    .read = read_slowdowns, .schema = schema_json_slowdowns};

static const FileField error_fields[] = {
    {"method", &method_type, AT(CsiModelledError, method), 0, "any", "Failing CSI call"},
    {"code", &code_type, AT(CsiModelledError, code), SCHEMA_REQUIRED, NULL,
     "The gRPC code, such as INTERNAL or RESOURCE_EXHAUSTED"},
    {"message", &schema_string, AT(CsiModelledError, message), 0, "injected error", "Message in Events"},
    {"probability", &schema_probability, AT(CsiModelledError, probability), 0, "1",
     "Probability for each call"},
    {"count", &schema_natural, AT(CsiModelledError, count), 0, "0: without end", "Number of failures"},
    {"perVolume", &schema_bool, AT(CsiModelledError, per_volume), 0, "false",
     "Count separately for each volume"},
    {"zone", &schema_string, AT(CsiModelledError, zone), 0, NULL,
     "Only CreateVolume calls that prefer this zone"},
    {"node", &schema_string, AT(CsiModelledError, node), 0, NULL, "Only calls for this node"},
    {"from", &schema_duration, AT(CsiModelledError, from), 0, "0s", "Begin of the failures"},
    {"until", &schema_duration, AT(CsiModelledError, until), 0, "the end", "End of the failures"},
    {"latency", &schema_dist, AT(CsiModelledError, latency), 0, "as if it succeeded",
     "Duration of the failing call"},
    {"afterEffect", &schema_bool, AT(CsiModelledError, after_effect), 0, "false",
     "The call has its effect, and only the answer is an error"},
    END,
};

static const FileType error_type = SCHEMA_STRUCT("error", error_fields, CsiModelledError,
    .init = error_init, .check = error_check);
static const FileType errors_type = SCHEMA_LIST(error_type);

static const FileField rate_fields[] = {
    {"qps", &schema_rate, AT(LimitFields, rate.qps) - AT(LimitFields, rate), SCHEMA_REQUIRED, NULL,
     "Calls per second"},
    {"burst", &schema_count, AT(LimitFields, rate.burst) - AT(LimitFields, rate), SCHEMA_REQUIRED, NULL,
     "Calls in a burst"},
    END,
};
static const FileType rate_type = SCHEMA_STRUCT("rate", rate_fields, ((LimitFields *)0)->rate);

static const FileField quota_fields[] = {
    {"calls", &schema_count, AT(CsiModelledQuota, calls), SCHEMA_REQUIRED, NULL, "Calls that change a volume"},
    {"within", &schema_duration, AT(CsiModelledQuota, within), SCHEMA_REQUIRED, NULL, "... in so long a time"},
    {"code", &code_type, AT(CsiModelledQuota, code), 0, "RESOURCE_EXHAUSTED", "The gRPC code of the refusal"},
    {"message", &schema_string, AT(CsiModelledQuota, message), 0, "volume {volume} has changed too often",
     "Message in Events; {volume}: the volume's id"},
    END,
};
static const FileType quota_type = SCHEMA_STRUCT("quota", quota_fields, CsiModelledQuota,
    .init = quota_init);

static const FileField limit_fields[] = {
    {"methods", &method_mask_type, AT(LimitFields, methods), 0, "all controller calls",
     "The CSI calls that share the limit"},
    {"concurrent", &schema_natural, AT(LimitFields, concurrent), 0, "0: no limit",
     "Number of concurrent calls"},
    {"rate", &rate_type, AT(LimitFields, rate), 0, "no limit", "A token bucket"},
    {"perNode", &schema_bool, AT(LimitFields, per_node), 0, "false", "A separate limit for each node"},
    {"perVolume", &quota_type, AT(LimitFields, per_volume), 0, "no limit",
     "Changes of each volume: beyond that the driver refuses the call"},
    END,
};
static const FileType limit_type = SCHEMA_STRUCT("limit", limit_fields, LimitFields);
static const FileType limit_list_type = SCHEMA_LIST(limit_type);

static const FileType limits_type = SCHEMA_TYPE("limit, or list of limits", "a mapping or a list",
    read_limits, schema_json_limits, SchemaList, .item = &limit_type);

static const FileField pool_fields[] = {
    {"zone", &schema_string, AT(PoolFields, zone), 0, NULL, "Zone of the pool"},
    {"topology", &schema_string_map, AT(PoolFields, topology), 0, "everywhere",
     "Place of the pool, by topology keys"},
    {"capacity", &schema_quantity, AT(PoolFields, capacity), SCHEMA_REQUIRED, NULL, "Room for volumes"},
    END,
};
static const FileType pool_type = SCHEMA_STRUCT("pool", pool_fields, PoolFields);
static const FileType pools_type = SCHEMA_LIST(pool_type);

#define SIZE_AT(member) (AT(DriverFields, member) - AT(DriverFields, model.volume_bytes_min))
static const FileField volume_size_fields[] = {
    {"min", &schema_quantity, SIZE_AT(model.volume_bytes_min), 0, "none",
     "Smallest size; smaller requests are refused or enlarged"},
    {"max", &schema_quantity, SIZE_AT(model.volume_bytes_max), 0, "none", "Largest size; larger requests are refused"},
    {"step", &schema_quantity, SIZE_AT(model.volume_bytes_step), 0, "none", "Unit; sizes are rounded up to a multiple"},
    {"default", &schema_quantity, SIZE_AT(default_bytes), 0, "1Gi", "Size if the caller names none"},
    END,
};

static const FileType volume_size_type = SCHEMA_STRUCT("volume size", volume_size_fields, DriverFields,
    .check = volume_size_check);

#define FILES_AT(member) (AT(CsiModelledOptions, member) - AT(CsiModelledOptions, n_files))
static const FileField files_fields[] = {
    {"count", &schema_quantity, FILES_AT(n_files), 0, "0",
     "Number of files in a volume once its first pod has filled it; kvolsim.io/files of a claim overrides it"},
    {"perFile", &schema_duration, FILES_AT(per_file), 0, "25us",
     "Time to change the group and the mode of one file"},
    {"perLabel", &schema_duration, FILES_AT(per_label), 0, "perFile", "Time to change its SELinux label"},
    END,
};
static const FileType files_type = SCHEMA_STRUCT("files", files_fields, CsiModelledOptions);

#define PLUGIN_AT(member) (AT(DriverFields, node_plugin.member) - AT(DriverFields, node_plugin))
static const FileField node_plugin_fields[] = {
    {"nodeSelector", &schema_string_map, PLUGIN_AT(node_selector), 0, "all nodes",
     "Labels of the nodes that the plugin runs on"},
    {"registersAfter", &schema_dist, PLUGIN_AT(registers_after), 0, "registered at the start",
     "Time from the start of the kubelet to the plugin's registration"},
    {"livenessPeriod", &schema_duration, PLUGIN_AT(liveness_period), 0, "not probed",
     "Time between two liveness probes of its container: five failures in a row, of 3 s each, restart it"},
    {"removesTaint", &schema_string, PLUGIN_AT(removes_taint), 0, "none",
     "Key of a taint that it takes from its Node once it is registered there, such as ebs.csi.aws.com/agent-not-ready"},
    {"preregistered", &schema_bool, PLUGIN_AT(preregistered), 0, "false",
     "The CSINode objects of the manifests contain the driver already"},
    END,
};
static const FileType node_plugin_type = SCHEMA_STRUCT("node plugin", node_plugin_fields,
    ((DriverFields *)0)->node_plugin, .check = plugin_check);

static const FileField usage_fields[] = {
    {"start", &schema_quantity, AT(VolumeFilling, start_bytes), 0, "0", "Bytes written at the first mount"},
    {"step", &schema_quantity, AT(VolumeFilling, step_bytes), 0, "0",
     "Bytes written each time when a pod has had the volume mounted for \"every\""},
    {"every", &schema_duration, AT(VolumeFilling, every), 0, "never", "Time between two steps"},
    {"fileSize", &schema_quantity, AT(VolumeFilling, file_bytes), 0, "no new files",
     "Size of the files that the bytes are in: each takes an inode"},
    END,
};
static const FileType usage_type = SCHEMA_STRUCT("usage", usage_fields, VolumeFilling, .check = usage_check);

static const char *const lock_words[] = {
    [CSI_LOCK_VOLUME] = "volume",
    [CSI_LOCK_VOLUME_AND_NODE] = "volume-and-node",
    [CSI_LOCK_NONE] = "none",
    NULL,
};
static const FileType lock_type = SCHEMA_ENUM(lock_words);

/* Fields that setDriver can change during a run. */
#define RUN_TIME_DRIVER_FIELDS \
    {"latency", &latencies_type, AT(DriverFields, model.latency), 0, "0s", "Duration of each CSI call"}, \
    {"errors", &errors_type, AT(DriverFields, errors), 0, "none", \
     "Failing calls; the first matching entry counts"}, \
    {"limits", &limits_type, AT(DriverFields, limits), 0, "none", \
     "Limits of concurrent calls and of calls per second"}, \
    {"pools", &pools_type, AT(DriverFields, pools), 0, "no limit", "Room for volumes, by place"}, \
    {"attachLimit", &schema_natural, AT(DriverFields, model.attach_limit), 0, "0: none", \
     "Number of volumes per node, reported by NodeGetInfo"}, \
    {"volumeSize", &volume_size_type, AT(DriverFields, model.volume_bytes_min), 0, "any", "Sizes of volumes"}, \
    {"usage", &usage_type, AT(DriverFields, model.usage), 0, "empty volumes", \
     "How volumes fill; a claim's annotation kvolsim.io/usage counts more"}, \
    {"readyAt", &schema_duration, AT(DriverFields, model.ready_at), 0, "0s", \
     "Time until which Probe answers not ready"}

/* Fields of a profile. */
#define PROFILE_DRIVER_FIELDS \
    RUN_TIME_DRIVER_FIELDS, \
    {"files", &files_type, AT(DriverFields, model.n_files), 0, "none", \
     "Files in each volume, whose group or SELinux label may have to be changed before a pod starts"}, \
    {"slowdown", &slowdowns_type, AT(DriverFields, model.slowdown), 0, "0", \
     "Slowdown of concurrent calls: each of n takes n to this power times as long; {exponent: 1, " \
     "undisturbed: 2}: n/2 to this power once n is larger than 2"}, \
    {"attachLimitReported", &schema_natural, AT(DriverFields, model.attach_limit_reported), 0, "attachLimit", \
     "Number that NodeGetInfo reports, if it differs"}, \
    {"attachRequired", &schema_tristate, AT(DriverFields, attach_required), 0, \
     "as its CSIDriver says, else true", \
     "Whether volumes are attached to nodes; file storage usually needs no attach"}, \
    {"topology", &scenario_topology_type, AT(DriverFields, topology), 0, \
     "the keys of the CSINodes in the manifests, else topology.<driver>/zone if nodes have zones", \
     "Key of the driver's topology segments, a list of keys, or a mapping from keys to labels of nodes; " \
     "false: every node reaches every volume"}, \
    {"volumeTopology", &schema_strings, AT(DriverFields, volume_topology), 0, "all keys of topology", \
     "The keys in the places of volumes, if the driver reports more keys for its nodes"}, \
    {"topologiesPerVolume", &schema_count, AT(DriverFields, model.topologies_per_volume), 0, "1", \
     "Number of zones of each volume"}, \
    {"controllerCapabilities", &controller_capabilities_type, AT(DriverFields, controller_capabilities), 0, \
     "create, attach, expand", "Capabilities of the controller service, by the CSI spec's names"}, \
    {"nodeCapabilities", &node_capabilities_type, AT(DriverFields, node_capabilities), 0, \
     "stage, stats, expand", "Capabilities of the node service"}, \
    {"groupCapabilities", &group_capabilities_type, AT(DriverFields, group_capabilities), 0, \
     "none", "Capabilities of the group controller service"}, \
    {"pluginCapabilities", &plugin_capabilities_type, AT(DriverFields, plugin_capabilities), 0, \
     "controller, topology, online expansion", "Capabilities of the identity service"}, \
    {"mutableParameters", &schema_strings, AT(DriverFields, mutable_keys), 0, "none", \
     "Names of parameters that ControllerModifyVolume accepts"}, \
    {"volumeContext", &schema_string_map, AT(DriverFields, volume_context), 0, "none", \
     "Returned by CreateVolume"}, \
    {"publishContext", &schema_string_map, AT(DriverFields, publish_context), 0, "none", \
     "Returned by ControllerPublishVolume"}, \
    {"lock", &lock_type, AT(DriverFields, model.lock), 0, "volume", \
     "Scope of locks: a second call in the same scope is ABORTED"}, \
    {"lockWaits", &schema_bool, AT(DriverFields, model.lock_waits), 0, "false", "... or waits for the first one"}, \
    {"needsSecrets", &schema_bool, AT(DriverFields, model.needs_secrets), 0, "false", "Calls without secrets fail"}, \
    {"randomIds", &schema_bool, AT(DriverFields, model.random_ids), 0, "false", \
     "Random volume ids, in place of the volumes' names"}, \
    {"adoptsUnknownVolumes", &schema_bool, AT(DriverFields, model.adopts_unknown_volumes), 0, "false", \
     "An unknown volume counts as a static one"}, \
    {"checksMounts", &schema_bool, AT(DriverFields, model.checks_mounts), 0, "false", \
     "DeleteVolume fails while a node has the volume mounted"}, \
    {"keepsSnapshotSources", &schema_bool, AT(DriverFields, model.keeps_snapshot_sources), 0, "false", \
     "DeleteVolume fails while the volume has snapshots"}, \
    {"snapshotsTakeRoom", &schema_bool, AT(DriverFields, model.snapshots_take_room), 0, "false", \
     "Snapshots take room in the pools"}, \
    {"abortsWithCaller", &schema_bool, AT(DriverFields, model.aborts_with_caller), 0, "false", \
     "A call is undone when its caller gives up"}, \
    {"vendorVersion", &schema_string, AT(DriverFields, model.vendor_version), 0, "1.0.0", \
     "Version in the answer of GetPluginInfo"}, \
    {"sidecars", &scenario_sidecars_type, AT(DriverFields, sidecars), 0, "all, with default flags", \
     "Flags under their real names; false: the sidecar does not run"}, \
    {"nodePlugin", &node_plugin_type, AT(DriverFields, node_plugin), 0, NULL, \
     "The driver's part on the nodes"}

static const FileField driver_fields[] = {
    {"name", &name_type, AT(DriverFields, model.name), SCHEMA_REQUIRED, NULL, "As in StorageClass.provisioner"},
    {"profile", &schema_string, AT(DriverFields, profile), 0, "none",
     "Name or path of a profile; fields of the scenario override it"},
    {"fromManifest", &schema_string, AT(DriverFields, from_manifest), 0, "none",
     "File with the driver's Deployment; its containers give sidecars and flags"},
    PROFILE_DRIVER_FIELDS,
    END,
};

static const FileField set_driver_fields[] = {
    {"name", &schema_string, AT(DriverFields, model.name), 0, "the only driver", "Name of the driver"},
    RUN_TIME_DRIVER_FIELDS,
    END,
};

static const FileField profile_driver_fields[] = {
    PROFILE_DRIVER_FIELDS,
    END,
};

const FileType scenario_driver_type = SCHEMA_TYPE("driver", "a mapping", read_driver, schema_json_struct,
    DriverFields, .fields = driver_fields);
const FileType scenario_set_driver_type = SCHEMA_TYPE("driver change", "a mapping", schema_read_mapping,
    schema_json_struct, json_t *, .fields = set_driver_fields);
const FileType scenario_profile_type = SCHEMA_TYPE("profile", "a mapping", schema_read_mapping,
    schema_json_struct, json_t *, .fields = profile_driver_fields);

/* clang-format on */

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flags of processes, under their real names. A scenario keeps them as text, name by name: each
 * run parses them into options of its own. They are parsed here once into a scratch struct, so that
 * their faults have a place, and the checks of the process see all flags together. A release of a
 * sidecar ("version") fills in the defaults that it had, where the user gives no flag. */
#include "effects.h"
#include "models/api/fields.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/snapshot-controller/snapshot-controller.h"
#include "release-defaults.h"
#include "scenario-private.h"

static void
flags_check_gates(SchemaReader *reader, const ProcessClass *class, const char *setting)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *unknown = NULL;

    if (process_gates_check(class, setting, &unknown, &error))
        return;
    for (const ProcessGate *gate = class->gates; gate->name != NULL; gate++)
        g_ptr_array_add(names, (char *)gate->name);
    g_autofree char *hint = name_hint_or_list(unknown != NULL ? unknown : "",
                                              (const char *const *)names->pdata, names->len);
    schema_fault(reader, hint, "%s", error->message);
}

/* Returns: (owned): NULL: it is none */
static char *
value_text(const ProcessFlag *flag, const json_t *value)
{
    g_autoptr(GString) text = NULL;
    const char *name;
    json_t *member;

    if (flag->type != FLAG_MAP || !json_is_object(value))
        return schema_scalar_text(value);
    text = g_string_new(NULL);
    json_object_foreach((json_t *)value, name, member) {
        g_autofree char *scalar = schema_scalar_text(member);
        if (scalar == NULL)
            return NULL;
        g_string_append_printf(text, "%s%s=%s", text->len > 0 ? "," : "", name, scalar);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
scenario_flags_set_flag(SchemaReader *reader,
                        const ProcessClass *class,
                        void *scratch,
                        const char *name,
                        const json_t *value,
                        GHashTable *flags)
{
    const ProcessFlag *flag = process_class_flag(class, name);
    g_autofree char *text = value_text(flag, value);
    g_autoptr(GError) error = NULL;

    if (text == NULL)
        schema_fault(reader, NULL, "must be the text of a flag, not %s", schema_value_words(value));
    else if (!process_flag_set(flag, scratch, text, reader->strings, &error))
        schema_fault(reader, flag->help, "%s", error->message);
    else
        g_hash_table_insert(flags, (char *)flag->name, (char *)schema_intern(reader, text));
    if (text != NULL && class->gates != NULL && g_str_equal(name, "feature-gates"))
        flags_check_gates(reader, class, text);
}

static void
fault_unknown_flag(SchemaReader *reader,
                   const ProcessClass *class,
                   const json_t *value,
                   const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        g_ptr_array_add(names, (char *)flag->name);
    g_autofree char *nearest = name_hint(name, (const char *const *)names->pdata, names->len);
    schema_fault_member(reader, value, name, nearest, "%s has no flag of this name here",
                        class->name);
}

void
scenario_warn_of_flag(SchemaReader *reader, const ProcessClass *class, const char *name)
{
    const FieldEffect *effect = flag_effect_find(class->name, name);
    g_autofree char *message =
        g_strdup_printf("not modelled: %s %s: %s", class->name, name, effect->text);

    if (effect->class == FIELD_NOT_MODELLED && reader->warn != NULL)
        reader->warn(reader, message);
}

/* client-go's NewLeaderElector() refuses these values, and the process would not start. */
static void
check_election(SchemaReader *reader,
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
        schema_fault_member(reader, value, "replicas", NULL, "at most %d are simulated",
                            PROCESS_REPLICAS_MAX);
    if (election->lease_duration <= election->renew_deadline)
        schema_fault(reader, NULL, "the lease duration must be greater than the renew deadline");
    if ((double)election->renew_deadline <= 1.2 * (double)election->retry_period)
        schema_fault(reader, NULL,
                     "the renew deadline must be greater than the retry period times 1.2");
}

/* Of a sidecar: a release that the table of defaults judges. */
static void
set_version(SchemaReader *reader, const ProcessClass *class, const json_t *value, GHashTable *flags)
{
    g_autofree char *text = schema_scalar_text(value);
    ProgramVersion version;

    if (!release_defaults_know(class))
        schema_fault(reader, "see docs/rules/sidecar-releases.md",
                     "no release of %s differs here: leave its version out", class->name);
    else if (text == NULL || json_is_real(value) || !program_version_parse(text, &version))
        schema_fault(reader, "v3.6, or \"3.6\" in quotes, because 3.10 is a number",
                     "must be a release, not %s", schema_value_words(value));
    else
        g_hash_table_insert(flags, (char *)SIDECAR_VERSION, (char *)schema_intern(reader, text));
}

void
scenario_take_defaults(SchemaReader *reader,
                       const ProcessClass *class,
                       GHashTable *flags,
                       int kubernetes)
{
    const char *text = g_hash_table_lookup(flags, SIDECAR_VERSION);
    ProgramVersion version;

    if (text == NULL || !program_version_parse(text, &version))
        return;
    if (process_class_flag(class, SIDECAR_VERSION) == NULL)
        g_hash_table_remove(flags, SIDECAR_VERSION);
    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++) {
        const char *value = release_default(class, flag->name, version, kubernetes);
        if (value != NULL && !g_str_equal(value, flag->default_value) &&
            !g_hash_table_contains(flags, flag->name))
            g_hash_table_insert(flags, (char *)flag->name, (char *)value);
    }
    g_autofree char *gates = release_default_gates(class, version, kubernetes,
                                                   g_hash_table_lookup(flags, FEATURE_GATES));
    if (gates != NULL)
        g_hash_table_insert(flags, (char *)FEATURE_GATES, (char *)schema_intern(reader, gates));
}

GHashTable *
scenario_read_flags(SchemaReader *reader, const ProcessClass *class, const json_t *value)
{
    GHashTable *flags = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree void *scratch = process_options_new(class, reader->strings);
    const char *name;
    json_t *member;

    g_ptr_array_add(reader->tables, flags);
    if (!json_is_object(value)) {
        schema_fault(reader, NULL, "must be a mapping of flags, not %s", schema_value_words(value));
        return flags;
    }
    json_object_foreach((json_t *)value, name, member) {
        const char *bare = g_str_has_prefix(name, "--") ? name + 2 : name;
        if (g_str_equal(name, SIDECAR_VERSION) &&
            (class->scope == PER_DRIVER || release_defaults_know(class))) {
            SchemaPlace at = schema_enter_member(reader, value, name);
            set_version(reader, class, member, flags);
            schema_leave(reader, at);
            continue;
        }
        gboolean is_known = process_class_flag(class, bare) != NULL;
        if (!is_known && flag_effect_find(class->name, bare) == NULL) {
            fault_unknown_flag(reader, class, value, bare == name ? name : bare);
            continue;
        }
        SchemaPlace place = schema_enter_member(reader, value, name);
        if (is_known)
            scenario_flags_set_flag(reader, class, scratch, bare, member, flags);
        else
            scenario_warn_of_flag(reader, class, bare);
        schema_leave(reader, place);
    }
    check_election(reader, class, scratch, value);
    g_autoptr(GError) error = NULL;
    if (class->check != NULL && !class->check(scratch, &error))
        schema_fault(reader, NULL, "%s", error->message);
    if (class->scope == PER_CLUSTER)
        scenario_take_defaults(reader, class, flags, RELEASE_DEFAULT_MINOR);
    return flags;
}

static json_t *
schema_json_of_flag(const ProcessFlag *flag)
{
    static const char *const types[] = {
        [FLAG_BOOL] = "boolean",    [FLAG_INT] = "integer",   [FLAG_NUMBER] = "number",
        [FLAG_DURATION] = "string", [FLAG_STRING] = "string", [FLAG_SIGNED_INT] = "integer",
        [FLAG_MAP] = "object",
    };
    g_autofree char *help = g_strdup_printf(
        "%s; default %s", flag->help, *flag->default_value != '\0' ? flag->default_value : "none");

    return json_pack("{s:s, s:s}", "type", types[flag->type], "description", help);
}

static json_t *
schema_json_of_flags(const ProcessClass *class)
{
    json_t *properties = json_object();

    for (const ProcessFlag *flag = class->flags; flag->name != NULL; flag++)
        json_object_set_new(properties, flag->name, schema_json_of_flag(flag));
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

/* Reads the flags of all processes with this scope. */
static json_t *
schema_json_of_processes(ProcessScope scope)
{
    json_t *properties = json_object();

    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == scope && json_object_get(properties, class->name) == NULL)
            json_object_set_new(properties, class->name, schema_json_of_flags(class));
    }
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static void
read_kubelet_flags(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    *(GHashTable **)target = scenario_read_flags(reader, process_class_find("kubelet"), value);
}

static json_t *
schema_json_kubelet_flags(const FileType *type)
{
    (void)type;
    return schema_json_of_flags(process_class_find("kubelet"));
}

void
scenario_fault_process(SchemaReader *reader,
                       ProcessScope scope,
                       const json_t *value,
                       const char *name)
{
    g_autofree char *names = process_class_names(scope);
    g_auto(GStrv) words = g_strsplit(names, ", ", -1);
    g_autofree char *hint =
        name_hint_or_list(name, (const char *const *)words, g_strv_length(words));

    schema_fault_member(reader, value, name, hint, "there is no %s of this name here",
                        scope == PER_DRIVER ? "sidecar" : "component");
}

/* The control plane, add-ons, and the kubelets of Nodes in manifests. */
static gboolean
is_component(const ProcessClass *class)
{
    return class != NULL && class->scope != PER_DRIVER;
}

static void
read_components(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    GHashTable *components = g_hash_table_new(g_str_hash, g_str_equal);
    const char *name;
    json_t *flags;

    (void)type;
    g_ptr_array_add(reader->tables, components);
    *(GHashTable **)target = components;
    if (!json_is_object(value)) {
        schema_fault(reader, NULL, "must be a mapping of components, not %s",
                     schema_value_words(value));
        return;
    }
    json_object_foreach((json_t *)value, name, flags) {
        const ProcessClass *class = process_class_find(name);
        if (!is_component(class)) {
            scenario_fault_process(reader, PER_CLUSTER, value, name);
            continue;
        }
        SchemaPlace place = schema_enter_member(reader, value, name);
        g_hash_table_insert(components, (char *)class->name,
                            scenario_read_flags(reader, class, flags));
        schema_leave(reader, place);
    }
}

static json_t *
schema_json_components(const FileType *type)
{
    json_t *schema = schema_json_of_processes(PER_CLUSTER);
    json_t *on_nodes = schema_json_of_processes(PER_NODE);

    (void)type;
    json_object_update_missing(json_object_get(schema, "properties"),
                               json_object_get(on_nodes, "properties"));
    json_decref(on_nodes);
    return schema;
}

static json_t *
schema_json_sidecars(const FileType *type)
{
    json_t *schema = schema_json_of_processes(PER_DRIVER);
    const char *name;
    json_t *flags;

    (void)type;
    json_object_foreach(json_object_get(schema, "properties"), name, flags) {
        if (release_defaults_know(process_class_find(name)))
            json_object_set_new(json_object_get(flags, "properties"), SIDECAR_VERSION,
                                json_pack("{s:s, s:s}", "type", "string", "description",
                                          "Release whose defaults the other flags have"));
        json_object_set_new(json_object_get(schema, "properties"), name,
                            json_pack("{s:[{s:b}, O]}", "anyOf", "const", 0, flags));
    }
    return schema;
}

/* clang-format off */

const FileType scenario_kubelet_flags_type = SCHEMA_TYPE("flags", "a mapping of flags", read_kubelet_flags,
    schema_json_kubelet_flags, GHashTable *);

const FileType scenario_components_type = SCHEMA_TYPE("flags by component", "a mapping", read_components,
    schema_json_components, GHashTable *);

/* driver.c reads them, with fromManifest. */
const FileType scenario_sidecars_type = SCHEMA_TYPE("flags by sidecar", "a mapping", schema_read_mapping,
    schema_json_sidecars, json_t *);

/* clang-format on */

gboolean
scenario_has_process(const Scenario *self, const ProcessClass *class)
{
    /* An add-on: most clusters without snapshots have neither CRDs nor controller. */
    if (class == &snapshot_controller_process || class == &external_snapshotter_process)
        return self->has_snapshots;
    if (!class->is_optional || class->scope == PER_DRIVER)
        return TRUE;
    return self->components != NULL && g_hash_table_contains(self->components, class->name);
}

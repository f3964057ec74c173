/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"

/* The CSI plugin of the kubelet: pkg/volume/csi. Operations on volumes ask it to
 * stage and publish a volume, to undo that, and to expand it. docs/rules/kubelet-csi-plugin.md has
 * its rules. */

/* ---- spec.c: what follows from a volume, its driver and its pod alone ---- */

extern const RuleTable csi_lifecycle_rules; /* CSP-5 */
extern const RuleTable csi_fs_group_rules;  /* CSP-8 */
extern const RuleTable csi_walk_rules;      /* CSP-23 */
extern const RuleTable csi_selinux_rules;   /* CSP-25 */
extern const RuleTable csi_conflict_rules;  /* CSP-28 */

/* CSP-4: "Persistent" or "Ephemeral"; an inline volume is ephemeral. */
const char *csi_spec_lifecycle_mode(const VolumeSource *source);
/* CSP-5. @driver: its CSIDriver object; NULL: there is none. Returns: (owned): why a driver cannot
 * have volumes of that mode; NULL: it can */
char *csi_spec_lifecycle_fault(const char *mode, const char *name, const CsiDriverObject *driver);
/* CSP-8. Returns: (static or interned): "File", "None" or "ReadWriteOnceWithFSType" */
const char *csi_spec_fs_group_policy(const CsiDriverObject *driver);
/* CSP-8: whether the kubelet changes the group of the volume's files. @volume: may be NULL: its
 * access modes are unknown. @fs_group: -1: the pod asks for none */
gboolean csi_spec_changes_group(const Volume *volume,
                                const char *fs_type,
                                int64_t fs_group,
                                const char *policy,
                                gboolean read_only);
/* CSP-23: whether a change of the files' group visits every file. Returns: the rule */
const char *
csi_spec_walks(const PodSpec *pod, const CsiFiles *files, const Release *release, gboolean *walks);
/* CSP-24. Returns: (borrowed): the part of the path from the pod's uid on */
const char *csi_spec_walked_directory(const char *target_path);
/* CSP-25: how the files get the label of a pod. */
typedef enum {
    CSI_SELINUX_NONE,
    CSI_SELINUX_RELABEL, /* the container runtime labels each file */
    CSI_SELINUX_MOUNT,   /* the driver mounts with -o context */
} CsiSelinux;
CsiSelinux csi_spec_selinux(const Object *node, /* nullable */
                            const CsiDriverObject *driver,
                            const Volume *volume,
                            const PodSpec *pod,
                            const Release *release);
gboolean csi_spec_has_selinux(const Object *node); /* NULL: no */
/* CSP-28. Returns: interned: the label with which the pod wants the volume mounted, whether or not
 * its access modes allow that; "": none */
const char *csi_spec_label(Strings *strings,
                           const Object *node, /* nullable */
                           const CsiDriverObject *driver,
                           const Volume *volume,
                           const PodSpec *pod,
                           const Release *release);
typedef enum {
    CSI_LABELS_AGREE,
    CSI_LABELS_DIFFER,   /* which is only counted */
    CSI_LABELS_CONFLICT, /* the second pod must wait */
} CsiLabels;
/* CSP-28: of a pod that has the volume, and of one that wants it. */
CsiLabels csi_spec_compare_labels(const Volume *volume,
                                  const char *theirs,
                                  const char *ours,
                                  const Release *release,
                                  const char **rule);
gboolean csi_spec_mounts_with_label(const Volume *volume, const Release *release);
/* Returns: interned: the mount option; the pod has a level */
const char *csi_spec_context_option(Strings *strings, const PodSpec *pod);
/* A volume without modes counts as ReadWriteOnce. */
uint32_t csi_spec_modes(const Volume *volume);
/* What a driver may do for this kubelet: without DelegateFSGroupToCSIDriver it takes no group. */
CsiNodeCapabilities csi_spec_node_capabilities(CsiNodeCapabilities can, const Release *release);
/* CSP-7, KVM-42: as the driver is told; options and the group are for file systems only.
 * @fs_group: -1: none */
CsiCapability csi_spec_capability(Strings *strings,
                                  const Volume *volume,
                                  uint32_t modes,
                                  CsiNodeCapabilities can,
                                  int64_t fs_group);

/* Returns: (owned): a stand-in for the PersistentVolume of an inline volume: its name is the
 * volume's name in the pod */
Object *csi_spec_inline_volume(const Component *component,
                               const Object *pod,
                               const PodVolume *inline_volume);

/* KVM-42, KVM-57. Interned; NULL: not a CSI volume, or one without a handle */
const char *csi_spec_target_path(Strings *strings, const Volume *volume, ObjectUid pod);
/* The folder of a block volume's links, one for each pod; the folder of a pod's links. Interned. */
const char *csi_spec_global_map_path(Strings *strings, const char *name);
const char *csi_spec_pod_map_path(Strings *strings, const char *pod_uid);
/* CSP-9, CSP-11: attributes, the pod's particulars and its tokens. @now: in the calendar. Returns:
 * (owned) (nullable) */
StringMap *csi_spec_context(Strings *strings,
                            const VolumeSource *source,
                            const CsiDriverObject *driver,
                            const Pod *pod,
                            SimTime now);

/* ---- client.c: calls, and questions before them ---- */

#define CSI_CALLS_TIMEOUT (120 * SIM_SECOND) /* KVM-5: of all calls of a function */

/* How a function of the plugin ended: pkg/volume/util/types. */
typedef enum {
    CSI_PLUGIN_DONE,
    CSI_PLUGIN_FAILED,      /* for good: the driver does nothing any more */
    CSI_PLUGIN_TRANSIENT,   /* before the call: nothing has changed */
    CSI_PLUGIN_UNCERTAIN,   /* the driver may still carry out the call (KVM-15) */
    CSI_PLUGIN_UNSUPPORTED, /* by this driver */
} CsiPluginEnd;

typedef struct {
    CsiPluginEnd end;
    const char *error; /* interned; NULL: done */
    CsiCode code;      /* of the call; CSI_OK: it was not made */
} CsiPluginResult;

/* The end of a function of the plugin: decides what follows, as a PlanDecide. */
typedef void (*CsiPluginThen)(const Kubelet *self, Plan *plan, const CsiPluginResult *result);

/* A function under way: notes of the plan. */
typedef struct {
    CsiPluginThen then;
    CsiMethod method;         /* the call that it leads to */
    SimTime deadline;         /* of all its calls (KVM-5) */
    uint32_t modes;           /* of the volume */
    CsiNodeCapabilities can;  /* as the driver has answered last */
    const StringMap *context; /* of the publication; borrowed from the plan */
    int64_t bytes;            /* of NodeExpandVolume */
    int question, attachment; /* numbers of steps; -1: not asked for */
    gboolean has_secrets;
    CsiFiles *files; /* whose group is being changed (CSP-22); NULL: of an unknown number */
    SimTime walk_from, walk_until;
} CsiRun;

/* Begins a function that leads to @method. */
CsiRun *csi_client_begin(Plan *plan, CsiMethod method, CsiPluginThen then);
void csi_client_end(const Kubelet *self,
                    Plan *plan,
                    CsiPluginEnd end,
                    CsiCode code,
                    const char *error); /* interned */
/* CSP-6: reads the Secret that the volume names for the call, if it names one; then @then goes on.
 * A decide function asks csi_client_secret_fault() first. */
void csi_client_add_secret(const Kubelet *self, Plan *plan, PlanDecide then);
/* Returns: (borrowed): why the Secret could not be read; NULL: it could, or there is none */
const char *
csi_client_secret_fault(const Kubelet *self, Plan *plan, const SecretReference **reference);
/* CSP-12: NodeGetCapabilities. Its answer: csi_client_answered() */
void csi_client_add_question(const Kubelet *self, Plan *plan);
/* Of the last step, if it was the question: notes the answer. Returns: whether it came */
gboolean csi_client_answered(const Kubelet *self, Plan *plan);
void csi_client_apply(const PlanChange *change); /* to the files of a volume */
/* CSP-7: asks which access modes the driver knows, makes the call, and ends the function. */
void csi_client_add_call(const Kubelet *self, Plan *plan);

/* ---- mounter.c ---- */

/* CSP-2: attacher.MountDevice, blockMapper.SetUpDevice. */
void csi_mounter_stage(const Kubelet *self, Plan *plan, CsiPluginThen then);
/* mounter.SetUpAt, blockMapper.MapPodDevice. */
void csi_mounter_publish(const Kubelet *self, Plan *plan, CsiPluginThen then);
/* TearDownAt and UnmapPodDevice; UnmountDevice and TearDownDevice. */
void csi_mounter_unpublish(const Kubelet *self, Plan *plan, CsiPluginThen then);
void csi_mounter_unstage(const Kubelet *self, Plan *plan, CsiPluginThen then);
/* NodeExpand: KVM-55. @bytes: the size to reach */
void csi_mounter_expand(const Kubelet *self, Plan *plan, int64_t bytes, CsiPluginThen then);
/* KVM-41.4: attacher.WaitForAttach. @attachment: as read; NULL: the read failed with @message.
 * Returns: interned: why the volume is not attached; NULL: it is */
const char *csi_mounter_attachment_fault(Plan *plan,
                                         const char *handle,
                                         const char *name,
                                         const Attachment *attachment,
                                         const char *message);

/* ---- metrics.c ---- */

/* A volume that is mounted. All strings interned. */
typedef struct {
    const char *driver, *handle;
    const char *path; /* csi_metrics_path() */
} CsiMetricsOf;

/* The end of csi_metrics_get(), as a PlanDecide. @usage: (nullable): with bytes or inodes; until
 * the plan's next step; its condition only counts with a message (CSP-30). @error: interned: why
 * there is none; %NULL with @usage */
typedef void (*CsiMetricsThen)(const Kubelet *self,
                               Plan *plan,
                               const CsiMetricsOf *of,
                               const CsiResponse *usage,
                               const char *error);

/* CSP-19: metricsCsi.GetMetrics. Takes the notes of the plan. @of: outlives the plan */
void csi_metrics_get(const Kubelet *self, Plan *plan, const CsiMetricsOf *of, CsiMetricsThen then);
SimTime csi_metrics_began(Plan *plan); /* for CsiMetricsThen: the instant of csi_metrics_get() */
/* Returns: interned: where a driver is asked for a mount's usage: its target path; of a block
 * volume the pod's link to the device */
const char *csi_metrics_path(const Kubelet *self, const PodMount *mount);

/* ---- saved-data.c: vol_data.json, which a kubelet leaves on its disk (CSP-14) ---- */

/* Beside the directory of a mount in a pod. @node: of the kubelet. Returns: (owned) */
StringMap *csi_saved_data(Strings *strings, const NodeVolume *volume, const char *node);
/* ConstructVolumeSpec and ConstructBlockVolumeSpec. Returns: (owned): the parts of the volume that
 * the file tells; NULL: there is no file, or it names no driver or handle */
Object *csi_saved_data_volume(const Component *component, const StringMap *data, gboolean is_block);

/* ---- client.c, spec.c: the driver of an operation, and its names and paths ---- */

/* Returns: (borrowed): NULL: not in the list of registered drivers */
CsiDriver *csi_steps_driver(const Kubelet *self, const PendingOperation *operation);
/* Returns: (borrowed): the CSIDriver object of the volume's driver; NULL: there is none */
const CsiDriverObject *csi_steps_driver_object(const Kubelet *self, const VolumeSource *source);
/* @who: begins the text: the Go function that failed. Returns: interned: the error for an
 * unregistered driver */
const char *
csi_steps_not_registered(Plan *plan, const PendingOperation *operation, const char *who);
/* Names and paths, which an operation needs and does not change. Nothing for other volumes. */
void csi_steps_prepare_device(Kubelet *self, NodeVolume *volume);
void csi_steps_prepare_mount(Kubelet *self, NodeVolume *volume, PodMount *mount);

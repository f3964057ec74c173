/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Releases of Kubernetes and their feature gates: which gate exists in a release, its stage,
 * whether it is on, and whether a setting is refused. A gate's row has the first release of each
 * stage; its stage in a release is the last one that has begun. A gate that is gone keeps its last
 * value. AllAlpha and AllBeta set the gates of their stage, unless a gate has a setting of its own.
 */
#include "release.h"
#include "models/api/api-test.h"

#include <string.h>

/* Stages as releases show them: alpha and beta may be on or off, a locked one cannot be set. */
enum {
    ALPHA = 1,
    ALPHA_ON,
    BETA,
    BETA_ON,
    GA,
    GA_OFF,
    LOCKED,
    LOCKED_OFF,
    DEPRECATED,
    DEPRECATED_ON,
    DEPRECATED_LOCKED,
    DEPRECATED_OFF,
    GONE
};

static const struct {
    const char *text;
    gboolean is_on, is_locked;
} states[] = {
    [ALPHA] = {"alpha, off",             FALSE, FALSE},
    [ALPHA_ON] = {"alpha, on",              TRUE,  FALSE},
    [BETA] = {"beta, off",              FALSE, FALSE},
    [BETA_ON] = {"beta, on",               TRUE,  FALSE},
    [GA] = {"GA, on",                 TRUE,  FALSE},
    [GA_OFF] = {"GA, off",                FALSE, FALSE},
    [LOCKED] = {"GA, locked",             TRUE,  TRUE },
    [LOCKED_OFF] = {"GA, locked off",         FALSE, TRUE },
    [DEPRECATED] = {"deprecated, off",        FALSE, FALSE},
    [DEPRECATED_ON] = {"deprecated, on",         TRUE,  FALSE},
    [DEPRECATED_LOCKED] = {"deprecated, locked",     TRUE,  TRUE },
    [DEPRECATED_OFF] = {"deprecated, locked off", FALSE, TRUE },
    [GONE] = {"gone",                   FALSE, FALSE},
};

/* All feature gates of Kubernetes 1.18 to 1.36: name, stages with the first release of each, and
 * the effect here; no effect: nothing. Sorted by name. From each release's
 * pkg/features/kube_features.go and its sisters in apiserver, apiextensions-apiserver, client-go,
 * controller-manager and component-base. */
/* clang-format off */
static const FeatureGate gates[] = {
    {"APIListChunking", {{18, BETA_ON}, {29, LOCKED}, {33, GONE}}},
    {"APIPriorityAndFairness", {{18, ALPHA}, {20, BETA_ON}, {29, LOCKED}, {31, GONE}}},
    {"APIResponseCompression", {{18, BETA_ON}}},
    {"APISelfSubjectReview", {{26, ALPHA}, {27, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"APIServerIdentity", {{20, ALPHA}, {26, BETA_ON}}},
    {"APIServerTracing", {{22, ALPHA}, {27, BETA_ON}, {34, LOCKED}}},
    {"APIServingWithRoutine", {{30, ALPHA}}},
    {"AdmissionWebhookMatchConditions", {{27, ALPHA}, {28, BETA_ON}, {30, LOCKED}, {33, GONE}}},
    {"AdvancedAuditing", {{18, GA}, {27, LOCKED}, {28, GONE}}},
    {"AggregatedDiscoveryEndpoint", {{26, ALPHA}, {27, BETA_ON}, {30, LOCKED}, {33, GONE}}},
    {"AggregatedDiscoveryRemoveBetaType", {{33, DEPRECATED_ON}, {35, DEPRECATED_LOCKED}}},
    {"AllowDNSOnlyNodeCSR", {{31, DEPRECATED}}},
    {"AllowInsecureBackendProxy", {{18, BETA_ON}, {21, LOCKED}, {23, GONE}}},
    {"AllowInsecureKubeletCertificateSigningRequests", {{31, DEPRECATED}}},
    {"AllowOverwriteTerminationGracePeriodSeconds", {{32, DEPRECATED}, {35, DEPRECATED_OFF}}},
    {"AllowParsingUserUIDFromCertAuth", {{33, BETA_ON}}},
    {"AllowServiceLBStatusOnNonLB", {{29, DEPRECATED}, {32, DEPRECATED_OFF}, {35, GONE}}},
    {"AllowUnsafeMalformedObjectDeletion", {{32, ALPHA}}},
    {"AnonymousAuthConfigurableEndpoints", {{31, ALPHA}, {32, BETA_ON}, {34, LOCKED}}},
    {"AnyVolumeDataSource", {{18, ALPHA}, {24, BETA_ON}, {33, LOCKED}, {36, GONE}},
     "dataSourceRef may name an object of any kind"},
    {"AppArmor", {{18, BETA_ON}, {31, LOCKED}, {33, GONE}}},
    {"AppArmorFields", {{30, BETA_ON}, {31, LOCKED}, {33, GONE}}},
    {"AtomicFIFO", {{36, BETA_ON}}},
    {"AttachVolumeLimit", {{18, LOCKED}, {21, GONE}},
     "always: limits are those of CSINode"},
    {"AuthorizeNodeWithSelectors", {{31, ALPHA}, {32, BETA_ON}, {34, LOCKED}}},
    {"AuthorizePodWebsocketUpgradeCreatePermission", {{35, BETA_ON}}},
    {"AuthorizeWithSelectors", {{31, ALPHA}, {32, BETA_ON}, {34, LOCKED}}},
    {"BalanceAttachedNodeVolumes", {{18, ALPHA}, {22, GONE}}},
    {"BlockVolume", {{18, LOCKED}, {21, GONE}},
     "always: raw block volumes"},
    {"BoundServiceAccountTokenVolume", {{18, ALPHA}, {21, BETA_ON}, {22, LOCKED}, {23, GONE}}},
    {"BtreeWatchCache", {{32, BETA_ON}, {33, LOCKED}}},
    {"CBORServingAndStorage", {{32, ALPHA}}},
    {"CPUManager", {{18, BETA_ON}, {26, LOCKED}, {33, GONE}}},
    {"CPUManagerPolicyAlphaOptions", {{23, ALPHA}}},
    {"CPUManagerPolicyBetaOptions", {{23, BETA_ON}}},
    {"CPUManagerPolicyOptions", {{22, ALPHA}, {23, BETA_ON}, {33, LOCKED}}},
    {"CRDObservedGenerationTracking", {{35, BETA}, {36, BETA_ON}}},
    {"CRDValidationRatcheting", {{28, ALPHA}, {30, BETA_ON}, {33, LOCKED}}},
    {"CRIContainerLogRotation", {{18, BETA_ON}, {21, LOCKED}, {22, GONE}}},
    {"CRIListStreaming", {{36, ALPHA}}},
    {"CSIBlockVolume", {{18, LOCKED}, {21, GONE}},
     "always: raw block volumes"},
    {"CSIDriverRegistry", {{18, LOCKED}, {21, GONE}},
     "always: CSIDriver and CSINode objects"},
    {"CSIInlineVolume", {{18, BETA_ON}, {25, LOCKED}, {27, GONE}},
     "always: CSI volumes in pods"},
    {"CSIMigration", {{18, BETA_ON}, {25, LOCKED}, {27, GONE}}},
    {"CSIMigrationAWS", {{18, BETA}, {23, BETA_ON}, {25, LOCKED}, {27, GONE}}},
    {"CSIMigrationAWSComplete", {{18, ALPHA}, {21, GONE}}},
    {"CSIMigrationAzureDisk", {{18, ALPHA}, {19, BETA}, {23, BETA_ON}, {24, GA}, {25, LOCKED}, {27, GONE}}},
    {"CSIMigrationAzureDiskComplete", {{18, ALPHA}, {21, GONE}}},
    {"CSIMigrationAzureFile", {{18, ALPHA}, {21, BETA}, {24, BETA_ON}, {26, GA}, {27, LOCKED}, {30, GONE}}},
    {"CSIMigrationAzureFileComplete", {{18, ALPHA}, {21, GONE}}},
    {"CSIMigrationGCE", {{18, BETA}, {23, BETA_ON}, {25, LOCKED}, {28, GONE}}},
    {"CSIMigrationGCEComplete", {{18, ALPHA}, {21, GONE}}},
    {"CSIMigrationOpenStack", {{18, BETA}, {21, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"CSIMigrationOpenStackComplete", {{18, ALPHA}, {21, GONE}}},
    {"CSIMigrationPortworx", {{23, ALPHA}, {25, BETA}, {31, BETA_ON}, {33, LOCKED}, {36, GONE}}},
    {"CSIMigrationRBD", {{24, ALPHA}, {28, DEPRECATED}, {31, GONE}}},
    {"CSIMigrationvSphere", {{19, BETA}, {25, BETA_ON}, {26, GA}, {27, LOCKED}, {29, GONE}}},
    {"CSIMigrationvSphereComplete", {{19, BETA}, {22, GONE}}},
    {"CSINodeExpandSecret", {{25, ALPHA}, {27, BETA_ON}, {29, LOCKED}, {31, GONE}},
     "Secrets in NodeExpandVolume"},
    {"CSINodeInfo", {{18, LOCKED}, {21, GONE}},
     "always: CSIDriver and CSINode objects"},
    {"CSIServiceAccountToken", {{20, ALPHA}, {21, BETA_ON}, {22, LOCKED}, {25, GONE}},
     "CSIDrivers have tokenRequests and requiresRepublish"},
    {"CSIServiceAccountTokenSecrets", {{35, BETA_ON}, {36, LOCKED}}},
    {"CSIStorageCapacity", {{19, ALPHA}, {21, BETA_ON}, {24, LOCKED}, {28, GONE}},
     "CSIDrivers have storageCapacity: the scheduler reads CSIStorageCapacity"},
    {"CSIVolumeFSGroupPolicy", {{19, ALPHA}, {20, BETA_ON}, {23, LOCKED}, {25, GONE}},
     "CSIDrivers have fsGroupPolicy"},
    {"CSIVolumeHealth", {{21, ALPHA}},
     "the kubelet's metric and Event of abnormal volumes"},
    {"CSRDuration", {{22, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"ChangeContainerStatusOnKubeletRestart", {{35, DEPRECATED}}},
    {"ClearingNominatedNodeNameAfterBinding", {{34, ALPHA}, {35, BETA_ON}}, "a binding ends the pod's nomination"},
    {"ClientsAllowCARotation", {{36, BETA_ON}}},
    {"ClientsAllowCBOR", {{32, ALPHA}}},
    {"ClientsAllowTLSCacheGC", {{36, BETA_ON}}},
    {"ClientsPreferCBOR", {{32, ALPHA}}},
    {"CloudControllerManagerWatchBasedRoutesReconciliation", {{35, ALPHA}}},
    {"CloudControllerManagerWebhook", {{27, ALPHA}}},
    {"CloudDualStackNodeIPs", {{27, ALPHA}, {29, BETA_ON}, {30, LOCKED}, {32, GONE}}},
    {"ClusterTrustBundle", {{27, ALPHA}, {33, BETA}}},
    {"ClusterTrustBundleProjection", {{29, ALPHA}, {33, BETA}}},
    {"ComponentFlagz", {{32, ALPHA}, {36, BETA_ON}}},
    {"ComponentSLIs", {{27, BETA_ON}, {32, LOCKED}, {33, GONE}}},
    {"ComponentStatusz", {{32, ALPHA}, {36, BETA_ON}}},
    {"ConcurrentWatchObjectDecode", {{31, BETA}}},
    {"ConfigurableFSGroupPolicy", {{18, ALPHA}, {20, BETA_ON}, {23, LOCKED}, {25, GONE}},
     "pods have fsGroupChangePolicy"},
    {"ConsistentHTTPGetHandlers", {{26, GA}, {30, LOCKED}, {31, GONE}}},
    {"ConsistentListFromCache", {{28, ALPHA}, {31, BETA_ON}, {34, LOCKED}}},
    {"ConstrainedImpersonation", {{35, ALPHA}, {36, BETA_ON}}},
    {"ContainerCheckpoint", {{25, ALPHA}, {30, BETA_ON}}},
    {"ContainerRestartRules", {{34, ALPHA}, {35, BETA_ON}}},
    {"ContainerStopSignals", {{33, ALPHA}}},
    {"ContextualLogging", {{24, ALPHA}, {30, BETA}, {33, BETA_ON}}},
    {"ControllerManagerLeaderMigration", {{22, BETA_ON}, {24, LOCKED}, {27, GONE}}},
    {"ControllerManagerReleaseLeaderElectionLockOnExit", {{36, ALPHA}}},
    {"CoordinatedLeaderElection", {{31, ALPHA}, {33, BETA}}},
    {"CronJobControllerV2", {{20, ALPHA}, {21, BETA_ON}, {22, LOCKED}, {23, GONE}}},
    {"CronJobTimeZone", {{24, ALPHA}, {25, BETA_ON}, {27, LOCKED}, {29, GONE}},
     "CronJobs have a timeZone"},
    {"CronJobsScheduledAnnotation", {{28, BETA_ON}, {32, LOCKED}, {35, GONE}},
     "Jobs of a CronJob have an annotation of their time"},
    {"CrossNamespaceVolumeDataSource", {{26, ALPHA}},
     "dataSourceRef may name a namespace"},
    {"CustomCPUCFSQuotaPeriod", {{18, ALPHA}, {36, GA}}},
    {"CustomResourceFieldSelectors", {{30, ALPHA}, {31, BETA_ON}, {32, LOCKED}}},
    {"CustomResourceValidationExpressions", {{23, ALPHA}, {25, BETA_ON}, {29, LOCKED}, {31, GONE}}},
    {"DRAAdminAccess", {{32, ALPHA}, {34, BETA_ON}, {36, LOCKED}}},
    {"DRAConsumableCapacity", {{34, ALPHA}, {36, BETA_ON}}},
    {"DRAControlPlaneController", {{31, ALPHA}, {32, GONE}}},
    {"DRADeviceBindingConditions", {{34, ALPHA}, {36, BETA_ON}}},
    {"DRADeviceTaintRules", {{35, ALPHA}, {36, BETA}}},
    {"DRADeviceTaints", {{33, ALPHA}, {36, BETA_ON}}},
    {"DRAExtendedResource", {{34, ALPHA}, {36, BETA_ON}}},
    {"DRAListTypeAttributes", {{36, ALPHA}}},
    {"DRANodeAllocatableResources", {{36, ALPHA}}},
    {"DRAPartitionableDevices", {{33, ALPHA}, {36, BETA_ON}}},
    {"DRAPrioritizedList", {{33, ALPHA}, {34, BETA_ON}, {36, GA}}},
    {"DRAResourceClaimDeviceStatus", {{32, ALPHA}, {33, BETA_ON}}},
    {"DRAResourceClaimGranularStatusAuthorization", {{36, BETA_ON}}},
    {"DRAResourcePoolStatus", {{36, ALPHA}}},
    {"DRASchedulerFilterTimeout", {{34, BETA_ON}}},
    {"DRAWorkloadResourceClaims", {{36, ALPHA}}},
    {"DaemonSetUpdateSurge", {{21, ALPHA}, {22, BETA_ON}, {25, LOCKED}, {27, GONE}},
     "DaemonSets have maxSurge"},
    {"DeclarativeValidation", {{33, BETA_ON}, {36, LOCKED}}},
    {"DeclarativeValidationBeta", {{36, BETA_ON}}},
    {"DeclarativeValidationTakeover", {{33, BETA}, {36, DEPRECATED}}},
    {"DefaultHostNetworkHostPortsInPodTemplates", {{28, DEPRECATED}, {31, GONE}}},
    {"DefaultIngressClass", {{18, BETA_ON}, {19, LOCKED}, {20, GONE}}},
    {"DefaultPodTopologySpread", {{19, ALPHA}, {20, BETA_ON}, {24, LOCKED}, {26, GONE}},
     "always: pods of a set spread by default constraints"},
    {"DelegateFSGroupToCSIDriver", {{22, ALPHA}, {23, BETA_ON}, {26, LOCKED}, {28, GONE}},
     "drivers with VOLUME_MOUNT_GROUP get the group"},
    {"DeploymentReplicaSetTerminatingReplicas", {{33, ALPHA}, {35, BETA_ON}}},
    {"DetectCacheInconsistency", {{34, BETA_ON}}},
    {"DevicePluginCDIDevices", {{28, ALPHA}, {29, BETA_ON}, {31, LOCKED}, {34, GONE}}},
    {"DevicePlugins", {{18, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"DisableAcceleratorUsageMetrics", {{19, ALPHA}, {20, BETA_ON}, {25, LOCKED}, {28, GONE}}},
    {"DisableAllocatorDualWrite", {{31, ALPHA}, {33, BETA}, {34, GA}, {35, LOCKED}}},
    {"DisableCPUQuotaWithExclusiveCPUs", {{33, BETA_ON}, {36, DEPRECATED_ON}}},
    {"DisableCloudProviders", {{22, ALPHA}, {29, BETA_ON}, {31, LOCKED}, {33, GONE}}},
    {"DisableKubeletCloudCredentialProviders", {{23, ALPHA}, {29, BETA_ON}, {31, LOCKED}, {33, GONE}}},
    {"DisableNodeKubeProxyVersion", {{29, ALPHA}, {31, DEPRECATED}, {33, DEPRECATED_ON}, {36, DEPRECATED_LOCKED}}},
    {"DownwardAPIHugePages", {{20, ALPHA}, {21, BETA}, {23, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"DryRun", {{18, BETA_ON}, {19, GA}, {26, LOCKED}, {28, GONE}}},
    {"DynamicAuditing", {{18, ALPHA}, {19, GONE}}},
    {"DynamicKubeletConfig", {{18, BETA_ON}, {22, DEPRECATED}, {26, GONE}}},
    {"DynamicResourceAllocation", {{26, ALPHA}, {32, BETA}, {34, GA}, {35, LOCKED}}, "words of FailedScheduling"},
    {"EfficientWatchResumption", {{20, ALPHA}, {21, BETA_ON}, {24, LOCKED}, {33, GONE}}},
    {"ElasticIndexedJob", {{27, BETA_ON}, {31, LOCKED}, {34, GONE}}},
    {"EndpointSlice", {{18, BETA_ON}, {21, LOCKED}, {25, GONE}}},
    {"EndpointSliceNodeName", {{20, ALPHA}, {21, LOCKED}, {25, GONE}}},
    {"EndpointSliceProxying", {{18, ALPHA}, {19, BETA_ON}, {22, LOCKED}, {25, GONE}}},
    {"EndpointSliceTerminatingCondition", {{20, ALPHA}, {22, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"EnvFiles", {{34, ALPHA}, {35, BETA_ON}}},
    {"EphemeralContainers", {{18, ALPHA}, {23, BETA_ON}, {25, LOCKED}, {27, GONE}}},
    {"EvenPodsSpread", {{18, BETA_ON}, {19, LOCKED}, {21, GONE}},
     "always: spread constraints"},
    {"EventedPLEG", {{26, ALPHA}, {27, BETA}, {28, ALPHA}}},
    {"ExecProbeTimeout", {{20, GA}, {35, LOCKED}}},
    {"ExpandCSIVolumes", {{18, BETA_ON}, {24, GA}, {27, GONE}},
     "always: claims expand"},
    {"ExpandInUsePersistentVolumes", {{18, BETA_ON}, {24, GA}, {27, GONE}},
     "always: claims expand"},
    {"ExpandPersistentVolumes", {{18, BETA_ON}, {24, GA}, {27, GONE}},
     "always: claims expand"},
    {"ExpandedDNSConfig", {{22, ALPHA}, {26, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"ExperimentalHostUserNamespaceDefaulting", {{18, BETA}, {28, DEPRECATED_OFF}, {30, GONE}}},
    {"ExtendWebSocketsToKubelet", {{36, BETA_ON}}},
    {"ExternalPolicyForExternalIP", {{18, GA_OFF}, {19, GA}, {20, LOCKED}, {22, GONE}}},
    {"ExternalServiceAccountTokenSigner", {{32, ALPHA}, {34, BETA_ON}, {36, LOCKED}}},
    {"GRPCContainerProbe", {{23, ALPHA}, {24, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"GangScheduling", {{35, ALPHA}}},
    {"GenericEphemeralVolume", {{19, ALPHA}, {21, BETA_ON}, {23, LOCKED}, {25, GONE}},
     "the ephemeral volume controller creates claims"},
    {"GenericWorkload", {{35, ALPHA}}},
    {"GitRepoVolumeDriver", {{33, DEPRECATED}, {36, DEPRECATED_OFF}}},
    {"GracefulNodeShutdown", {{20, ALPHA}, {21, BETA_ON}},
     "a shutdown of the node ends its pods"},
    {"GracefulNodeShutdownBasedOnPodPriority", {{23, ALPHA}, {24, BETA_ON}}},
    {"HPAConfigurableTolerance", {{33, ALPHA}, {35, BETA_ON}}},
    {"HPAContainerMetrics", {{20, ALPHA}, {27, BETA_ON}, {30, LOCKED}, {32, GONE}}},
    {"HPAScaleToZero", {{18, ALPHA}}},
    {"HonorPVReclaimPolicy", {{23, ALPHA}, {31, BETA_ON}, {33, LOCKED}, {36, GONE}},
     "a volume's finalizer keeps it until its storage is deleted"},
    {"HostnameOverride", {{34, ALPHA}, {35, BETA_ON}}},
    {"HugePageStorageMediumSize", {{18, ALPHA}, {19, BETA_ON}, {22, LOCKED}, {24, GONE}}},
    {"HyperVContainer", {{18, ALPHA}, {20, DEPRECATED}, {21, GONE}}},
    {"IPTablesOwnershipCleanup", {{25, ALPHA}, {27, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"IPv6DualStack", {{18, ALPHA}, {21, BETA_ON}, {23, LOCKED}, {25, GONE}}},
    {"IdentifyPodOS", {{23, ALPHA}, {24, BETA_ON}, {25, LOCKED}, {27, GONE}}},
    {"ImageMaximumGCAge", {{29, ALPHA}, {30, BETA_ON}, {35, LOCKED}}},
    {"ImageVolume", {{31, ALPHA}, {33, BETA}, {35, BETA_ON}, {36, LOCKED}}},
    {"ImageVolumeWithDigest", {{36, ALPHA}}},
    {"ImmutableEphemeralVolumes", {{18, ALPHA}, {19, BETA_ON}, {21, LOCKED}, {24, GONE}}},
    {"InOrderInformers", {{33, BETA_ON}, {36, LOCKED}}},
    {"InOrderInformersBatchProcess", {{35, BETA_ON}}},
    {"InPlacePodLevelResourcesVerticalScaling", {{35, ALPHA}, {36, BETA_ON}}},
    {"InPlacePodVerticalScaling", {{27, ALPHA}, {33, BETA_ON}, {35, LOCKED}}},
    {"InPlacePodVerticalScalingAllocatedStatus", {{32, ALPHA}, {33, DEPRECATED}, {36, GONE}}},
    {"InPlacePodVerticalScalingExclusiveCPUs", {{32, ALPHA}}},
    {"InPlacePodVerticalScalingExclusiveMemory", {{34, ALPHA}}},
    {"InPlacePodVerticalScalingInitContainers", {{36, BETA_ON}}},
    {"InTreePluginAWSUnregister", {{21, ALPHA}, {31, GONE}}},
    {"InTreePluginAzureDiskUnregister", {{21, ALPHA}, {31, GONE}}},
    {"InTreePluginAzureFileUnregister", {{21, ALPHA}, {31, GONE}}},
    {"InTreePluginGCEUnregister", {{21, ALPHA}, {31, GONE}}},
    {"InTreePluginOpenStackUnregister", {{21, ALPHA}, {31, GONE}}},
    {"InTreePluginPortworxUnregister", {{23, ALPHA}, {36, GONE}}},
    {"InTreePluginRBDUnregister", {{23, ALPHA}, {28, DEPRECATED}, {31, GONE}}},
    {"InTreePluginvSphereUnregister", {{21, ALPHA}, {31, GONE}}},
    {"IndexedJob", {{21, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}},
     "Jobs have completionMode"},
    {"InformerResourceVersion", {{30, ALPHA}, {35, GA}}},
    {"IngressClassNamespacedParams", {{21, ALPHA}, {22, BETA_ON}, {23, LOCKED}, {25, GONE}}},
    {"JobBackoffLimitPerIndex", {{28, ALPHA}, {29, BETA_ON}, {33, LOCKED}},
     "Jobs have backoffLimitPerIndex and maxFailedIndexes"},
    {"JobManagedBy", {{30, ALPHA}, {32, BETA_ON}, {35, LOCKED}},
     "Jobs have managedBy"},
    {"JobMutableNodeSchedulingDirectives", {{23, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"JobPodFailurePolicy", {{25, ALPHA}, {26, BETA_ON}, {31, LOCKED}, {33, GONE}},
     "Jobs have podFailurePolicy"},
    {"JobPodReplacementPolicy", {{28, ALPHA}, {29, BETA_ON}, {34, LOCKED}},
     "Jobs have podReplacementPolicy"},
    {"JobReadyPods", {{23, ALPHA}, {24, BETA_ON}, {29, LOCKED}, {31, GONE}}},
    {"JobSuccessPolicy", {{30, ALPHA}, {31, BETA_ON}, {33, LOCKED}},
     "Jobs have successPolicy"},
    {"JobTrackingWithFinalizers", {{22, ALPHA}, {23, BETA_ON}, {24, BETA}, {25, BETA_ON}, {26, LOCKED}, {29, GONE}},
     "always: pods of Jobs are counted by finalizers"},
    {"KMSv1", {{28, DEPRECATED_ON}, {29, DEPRECATED}}},
    {"KMSv2", {{25, ALPHA}, {27, BETA_ON}, {29, LOCKED}, {32, GONE}}},
    {"KMSv2KDF", {{28, BETA}, {29, LOCKED}, {32, GONE}}},
    {"KubeProxyDrainingTerminatingNodes", {{28, ALPHA}, {30, BETA_ON}, {31, LOCKED}, {33, GONE}}},
    {"KubeletCgroupDriverFromCRI", {{28, ALPHA}, {31, BETA_ON}, {34, LOCKED}}},
    {"KubeletCrashLoopBackOffMax", {{32, ALPHA}, {35, BETA_ON}}},
    {"KubeletCredentialProviders", {{20, ALPHA}, {24, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"KubeletEnsureSecretPulledImages", {{33, ALPHA}, {35, BETA_ON}}},
    {"KubeletFineGrainedAuthz", {{32, ALPHA}, {33, BETA_ON}, {36, LOCKED}}},
    {"KubeletInUserNamespace", {{22, ALPHA}}},
    {"KubeletPSI", {{33, ALPHA}, {34, BETA_ON}, {36, LOCKED}}},
    {"KubeletPodResources", {{18, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"KubeletPodResourcesDynamicResources", {{27, ALPHA}, {34, BETA_ON}, {36, LOCKED}}},
    {"KubeletPodResourcesGet", {{27, ALPHA}, {34, BETA_ON}, {36, LOCKED}}},
    {"KubeletPodResourcesGetAllocatable", {{21, ALPHA}, {23, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"KubeletPodResourcesListUseActivePods", {{34, DEPRECATED_ON}}},
    {"KubeletRegistrationGetOnExistsOnly", {{32, DEPRECATED}}},
    {"KubeletSeparateDiskGC", {{29, ALPHA}, {31, BETA_ON}}},
    {"KubeletServiceAccountTokenForCredentialProviders", {{33, ALPHA}, {34, BETA_ON}}},
    {"KubeletTracing", {{25, ALPHA}, {27, BETA_ON}, {34, LOCKED}}},
    {"LegacyNodeRoleBehavior", {{18, ALPHA_ON}, {19, BETA_ON}, {21, LOCKED_OFF}, {22, GONE}}},
    {"LegacyServiceAccountTokenCleanUp", {{28, ALPHA}, {29, BETA_ON}, {30, LOCKED}, {32, GONE}}},
    {"LegacyServiceAccountTokenNoAutoGeneration", {{24, BETA_ON}, {26, GA}, {27, LOCKED}, {29, GONE}}},
    {"LegacyServiceAccountTokenTracking", {{26, ALPHA}, {27, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"LegacySidecarContainers", {{33, DEPRECATED}, {34, GONE}}},
    {"ListFromCacheSnapshot", {{33, ALPHA}, {34, BETA_ON}}},
    {"LoadBalancerIPMode", {{29, ALPHA}, {30, BETA_ON}, {32, LOCKED}, {35, GONE}}},
    {"LocalStorageCapacityIsolation", {{18, BETA_ON}, {25, LOCKED}, {27, GONE}},
     "pods over their limits of local storage are evicted"},
    {"LocalStorageCapacityIsolationFSQuotaMonitoring", {{18, ALPHA}, {31, BETA}}},
    {"LogarithmicScaleDown", {{21, ALPHA}, {22, BETA_ON}, {31, LOCKED}}},
    {"LoggingAlphaOptions", {{24, ALPHA}}},
    {"LoggingBetaOptions", {{24, BETA_ON}}},
    {"ManifestBasedAdmissionControlConfig", {{36, ALPHA}}},
    {"MatchLabelKeysInPodAffinity", {{29, ALPHA}, {31, BETA_ON}, {33, LOCKED}}},
    {"MatchLabelKeysInPodTopologySpread", {{25, ALPHA}, {27, BETA_ON}}},
    {"MatchLabelKeysInPodTopologySpreadSelectorMerge", {{34, BETA_ON}}},
    {"MaxUnavailableStatefulSet", {{24, ALPHA}, {35, BETA}}},
    {"MemoryManager", {{21, ALPHA}, {22, BETA_ON}, {32, LOCKED}, {36, GONE}}},
    {"MemoryQoS", {{22, ALPHA}}},
    {"MinDomainsInPodTopologySpread", {{24, ALPHA}, {25, BETA}, {27, BETA_ON}, {30, LOCKED}, {32, GONE}},
     "spread constraints have minDomains"},
    {"MinimizeIPTablesRestore", {{26, ALPHA}, {27, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"MixedProtocolLBService", {{20, ALPHA}, {24, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"MultiCIDRRangeAllocator", {{25, ALPHA}, {29, GONE}}},
    {"MultiCIDRServiceAllocator", {{27, ALPHA}, {31, BETA}, {33, GA}, {34, LOCKED}}},
    {"MutableCSINodeAllocatableCount", {{33, ALPHA}, {34, BETA}, {35, BETA_ON}, {36, LOCKED}},
     "kubelets read attach limits anew"},
    {"MutablePVNodeAffinity", {{35, ALPHA}}},
    {"MutablePodResourcesForSuspendedJobs", {{35, ALPHA}, {36, BETA_ON}}},
    {"MutableSchedulingDirectivesForSuspendedJobs", {{35, ALPHA}, {36, BETA_ON}}},
    {"MutatingAdmissionPolicy", {{30, ALPHA}, {34, BETA}, {36, GA}}},
    {"NFTablesProxyMode", {{29, ALPHA}, {31, BETA_ON}, {33, LOCKED}}},
    {"NamespaceDefaultLabelName", {{21, BETA_ON}, {22, LOCKED}, {24, GONE}}},
    {"NativeHistograms", {{36, ALPHA}}},
    {"NetworkPolicyEndPort", {{21, ALPHA}, {22, BETA_ON}, {25, LOCKED}, {27, GONE}}},
    {"NetworkPolicyStatus", {{24, ALPHA}, {28, GONE}}},
    {"NewVolumeManagerReconstruction", {{27, BETA}, {28, BETA_ON}, {30, LOCKED}, {32, GONE}},
     "always: kubelets find mounted volumes before they mount"},
    {"NodeDeclaredFeatures", {{35, ALPHA}, {36, BETA_ON}}},
    {"NodeDisruptionExclusion", {{18, ALPHA}, {19, BETA_ON}, {21, LOCKED}, {22, GONE}}},
    {"NodeInclusionPolicyInPodTopologySpread", {{25, ALPHA}, {26, BETA_ON}, {33, LOCKED}}},
    {"NodeLease", {{18, LOCKED}, {23, GONE}},
     "always: kubelets renew Leases"},
    {"NodeLogQuery", {{27, ALPHA}, {30, BETA}, {36, LOCKED}}},
    {"NodeOutOfServiceVolumeDetach", {{24, ALPHA}, {26, BETA_ON}, {28, LOCKED}, {32, GONE}},
     "taint out-of-service detaches at once"},
    {"NodeSwap", {{22, ALPHA}, {28, BETA}, {30, BETA_ON}, {34, LOCKED}}},
    {"NominatedNodeNameForExpectation", {{34, ALPHA}, {35, BETA_ON}}, "the scheduler tells the node of a pod whose volumes it binds"},
    {"NonPreemptingPriority", {{18, ALPHA}, {19, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"OpenAPIEnums", {{23, ALPHA}, {24, BETA_ON}}},
    {"OpenAPIV3", {{23, ALPHA}, {24, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"OpportunisticBatching", {{35, BETA_ON}}},
    {"OrderedNamespaceDeletion", {{31, BETA}, {33, BETA_ON}, {34, LOCKED}},
     "pods of a deleted namespace go before its other objects"},
    {"PDBUnhealthyPodEvictionPolicy", {{26, ALPHA}, {27, BETA_ON}, {31, LOCKED}, {33, GONE}},
     "PodDisruptionBudgets have unhealthyPodEvictionPolicy"},
    {"PLEGOnDemandRelist", {{36, BETA_ON}}, "kubelets look at the runtime after each sync"},
    {"PersistentVolumeClaimUnusedSinceTime", {{36, ALPHA}}},
    {"PersistentVolumeLastPhaseTransitionTime", {{28, ALPHA}, {29, BETA_ON}, {31, LOCKED}, {33, GONE}},
     "volumes have status.lastPhaseTransitionTime"},
    {"PodAffinityNamespaceSelector", {{21, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"PodAndContainerStatsFromCRI", {{23, ALPHA}}},
    {"PodCertificateRequest", {{34, ALPHA}, {35, BETA}}},
    {"PodDeletionCost", {{21, ALPHA}, {22, BETA_ON}},
     "annotation pod-deletion-cost"},
    {"PodDisruptionBudget", {{18, BETA_ON}, {21, LOCKED}, {25, GONE}},
     "always: PodDisruptionBudgets"},
    {"PodDisruptionConditions", {{25, ALPHA}, {26, BETA_ON}, {31, LOCKED}, {34, GONE}},
     "pods that are to go for others have the condition DisruptionTarget"},
    {"PodHasNetworkCondition", {{25, ALPHA}, {28, GONE}}},
    {"PodHostIPs", {{28, ALPHA}, {29, BETA_ON}, {30, LOCKED}, {32, GONE}}},
    {"PodIndexLabel", {{28, BETA_ON}, {32, LOCKED}, {35, GONE}}},
    {"PodLevelResourceManagers", {{36, ALPHA}}},
    {"PodLevelResources", {{32, ALPHA}, {34, BETA_ON}}},
    {"PodLifecycleSleepAction", {{29, ALPHA}, {30, BETA_ON}, {34, LOCKED}}},
    {"PodLifecycleSleepActionAllowZero", {{32, ALPHA}, {33, BETA_ON}, {34, LOCKED}}},
    {"PodLogsQuerySplitStreams", {{32, ALPHA}}},
    {"PodObservedGenerationTracking", {{33, ALPHA}, {34, BETA_ON}, {35, LOCKED}}, "pods have status.observedGeneration"},
    {"PodOverhead", {{18, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"PodReadyToStartContainersCondition", {{28, ALPHA}, {29, BETA_ON}},
     "pods have the condition PodReadyToStartContainers"},
    {"PodSchedulingReadiness", {{26, ALPHA}, {27, BETA_ON}, {30, LOCKED}},
     "pods have schedulingGates"},
    {"PodSecurity", {{22, ALPHA}, {23, BETA_ON}, {25, LOCKED}, {28, GONE}}},
    {"PodShareProcessNamespace", {{18, LOCKED}, {19, GONE}}},
    {"PodTopologyLabelsAdmission", {{33, ALPHA}, {35, BETA_ON}}, "bound pods get the zone and region of their node as labels"},
    {"PodsAPI", {{36, ALPHA}}},
    {"PortForwardWebsockets", {{30, ALPHA}, {31, BETA_ON}}},
    {"PreferNominatedNode", {{21, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"PreferSameTrafficDistribution", {{33, ALPHA}, {34, BETA_ON}, {35, LOCKED}}},
    {"PreventStaticPodAPIReferences", {{34, BETA_ON}}},
    {"ProbeHostPodSecurityStandards", {{34, LOCKED}, {35, GONE}}},
    {"ProbeTerminationGracePeriod", {{21, ALPHA}, {22, BETA}, {25, BETA_ON}, {28, LOCKED}, {29, GONE}}},
    {"ProcMountType", {{18, ALPHA}, {31, BETA}, {33, BETA_ON}, {36, LOCKED}}},
    {"ProxyTerminatingEndpoints", {{22, ALPHA}, {26, BETA_ON}, {28, LOCKED}, {30, GONE}}},
    {"QOSReserved", {{18, ALPHA}}},
    {"ReadWriteOncePod", {{22, ALPHA}, {27, BETA_ON}, {29, LOCKED}, {31, GONE}},
     "claims and volumes may be ReadWriteOncePod"},
    {"RecoverVolumeExpansionFailure", {{23, ALPHA}, {32, BETA_ON}, {34, LOCKED}},
     "a claim whose expansion fails may ask for less"},
    {"RecursiveReadOnlyMounts", {{30, ALPHA}, {31, BETA_ON}, {33, LOCKED}}},
    {"ReduceDefaultCrashLoopBackOffDecay", {{33, ALPHA}}},
    {"RelaxedDNSSearchValidation", {{32, ALPHA}, {33, BETA_ON}, {34, LOCKED}}},
    {"RelaxedEnvironmentVariableValidation", {{30, ALPHA}, {32, BETA_ON}, {34, LOCKED}}},
    {"RelaxedServiceNameValidation", {{34, ALPHA}, {36, BETA_ON}}},
    {"ReloadKubeletClientCAFile", {{36, BETA_ON}}},
    {"ReloadKubeletServerCertificateFile", {{31, BETA_ON}}},
    {"RemainingItemCount", {{18, BETA_ON}, {29, LOCKED}, {33, GONE}}},
    {"RemoteRequestHeaderUID", {{32, ALPHA}, {33, BETA_ON}}},
    {"RemoveSelfLink", {{18, ALPHA}, {20, BETA_ON}, {24, LOCKED}, {30, GONE}}},
    {"ResilientWatchCacheInitialization", {{31, BETA_ON}, {34, LOCKED}}},
    {"ResourceHealthStatus", {{31, ALPHA}, {36, BETA_ON}}},
    {"ResourceHealthStatusMessage", {{36, BETA_ON}}},
    {"ResourceLimitsPriorityFunction", {{18, ALPHA}, {19, GONE}}},
    {"RestartAllContainersOnContainerExits", {{35, ALPHA}, {36, BETA_ON}}},
    {"RetroactiveDefaultStorageClass", {{25, ALPHA}, {26, BETA_ON}, {28, LOCKED}, {29, GONE}},
     "claims get the default class later"},
    {"RetryGenerateName", {{30, ALPHA}, {31, BETA_ON}, {32, LOCKED}}},
    {"RootCAConfigMap", {{20, BETA_ON}, {21, LOCKED}, {22, GONE}}},
    {"RotateKubeletClientCertificate", {{18, BETA_ON}, {19, LOCKED}, {21, GONE}}},
    {"RotateKubeletServerCertificate", {{18, BETA_ON}}},
    {"RunAsGroup", {{18, BETA_ON}, {21, LOCKED}, {22, GONE}}},
    {"RuntimeClass", {{18, BETA_ON}, {20, LOCKED}, {24, GONE}}},
    {"RuntimeClassInImageCriApi", {{29, ALPHA}}},
    {"SCTPSupport", {{18, ALPHA}, {19, BETA_ON}, {20, LOCKED}, {22, GONE}}},
    {"SELinuxChangePolicy", {{32, ALPHA}, {33, BETA_ON}, {36, LOCKED}},
     "pods have seLinuxChangePolicy"},
    {"SELinuxMount", {{30, ALPHA}, {33, BETA}},
     "volumes are mounted with the pod's SELinux label"},
    {"SELinuxMountReadWriteOncePod", {{25, ALPHA}, {27, BETA}, {28, BETA_ON}, {36, LOCKED}},
     "the same for ReadWriteOncePod volumes"},
    {"SchedulerAsyncAPICalls", {{34, BETA}}},
    {"SchedulerAsyncPreemption", {{32, ALPHA}, {33, BETA_ON}}},
    {"SchedulerPopFromBackoffQ", {{33, BETA_ON}}, "an idle scheduler tries pods in back-off at once"},
    {"SchedulerQueueingHints", {{28, BETA}, {32, BETA_ON}, {34, LOCKED}},
     "plugins choose the Events that wake a pod"},
    {"SeccompDefault", {{22, ALPHA}, {25, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"SecurityContextDeny", {{27, ALPHA}, {30, GONE}}},
    {"SelectorIndex", {{18, ALPHA}, {19, BETA_ON}, {20, LOCKED}, {25, GONE}}},
    {"SeparateCacheWatchRPC", {{28, BETA_ON}, {33, DEPRECATED}, {36, DEPRECATED_OFF}}},
    {"SeparateTaintEvictionController", {{29, BETA_ON}, {34, LOCKED}}},
    {"ServerSideApply", {{18, BETA_ON}, {22, GA}, {26, LOCKED}, {32, GONE}}},
    {"ServerSideFieldValidation", {{23, ALPHA}, {25, BETA_ON}, {27, LOCKED}, {32, GONE}}},
    {"ServiceAccountIssuerDiscovery", {{18, ALPHA}, {20, BETA_ON}, {21, LOCKED}, {23, GONE}}},
    {"ServiceAccountNodeAudienceRestriction", {{32, BETA}, {33, BETA_ON}}},
    {"ServiceAccountTokenJTI", {{29, ALPHA}, {30, BETA_ON}, {32, LOCKED}}},
    {"ServiceAccountTokenNodeBinding", {{29, ALPHA}, {31, BETA_ON}, {33, LOCKED}}},
    {"ServiceAccountTokenNodeBindingValidation", {{29, ALPHA}, {30, BETA_ON}, {32, LOCKED}}},
    {"ServiceAccountTokenPodNodeInfo", {{29, ALPHA}, {30, BETA_ON}, {32, LOCKED}}},
    {"ServiceAppProtocol", {{18, ALPHA}, {19, BETA_ON}, {20, LOCKED}, {22, GONE}}},
    {"ServiceCIDRStatusFieldWiping", {{36, DEPRECATED_ON}}},
    {"ServiceIPStaticSubrange", {{24, ALPHA}, {25, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"ServiceInternalTrafficPolicy", {{21, ALPHA}, {22, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"ServiceLBNodePortControl", {{20, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"ServiceLoadBalancerClass", {{21, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}}},
    {"ServiceLoadBalancerFinalizer", {{18, LOCKED}, {20, GONE}}},
    {"ServiceNodeExclusion", {{18, ALPHA}, {19, BETA_ON}, {21, LOCKED}, {22, GONE}}},
    {"ServiceNodePortStaticSubrange", {{27, ALPHA}, {28, BETA_ON}, {29, LOCKED}, {31, GONE}}},
    {"ServiceTopology", {{18, ALPHA}, {22, GONE}}},
    {"ServiceTrafficDistribution", {{30, ALPHA}, {31, BETA_ON}, {33, LOCKED}, {36, GONE}}},
    {"SetHostnameAsFQDN", {{19, ALPHA}, {20, BETA_ON}, {22, LOCKED}, {24, GONE}}},
    {"ShardedListAndWatch", {{36, ALPHA}}},
    {"SidecarContainers", {{28, ALPHA}, {29, BETA_ON}, {33, LOCKED}}},
    {"SizeBasedListCostEstimate", {{34, BETA_ON}}},
    {"SizeMemoryBackedVolumes", {{20, ALPHA}, {22, BETA_ON}, {32, LOCKED}, {35, GONE}},
     "an emptyDir in memory is as large as its sizeLimit"},
    {"SkipReadOnlyValidationGCE", {{28, ALPHA}, {29, DEPRECATED_ON}, {31, GONE}}},
    {"StableLoadBalancerNodeSet", {{27, BETA_ON}, {30, LOCKED}, {32, GONE}}},
    {"StaleControllerConsistencyDaemonSet", {{36, BETA_ON}}},
    {"StaleControllerConsistencyJob", {{36, BETA_ON}}},
    {"StaleControllerConsistencyReplicaSet", {{36, BETA_ON}}},
    {"StaleControllerConsistencyStatefulSet", {{36, BETA_ON}}},
    {"StartupProbe", {{18, BETA_ON}, {20, LOCKED}, {23, GONE}}},
    {"StatefulSetAutoDeletePVC", {{23, ALPHA}, {27, BETA_ON}, {32, LOCKED}, {35, GONE}},
     "StatefulSets have persistentVolumeClaimRetentionPolicy"},
    {"StatefulSetMinReadySeconds", {{22, ALPHA}, {23, BETA_ON}, {25, LOCKED}, {27, GONE}},
     "StatefulSets have minReadySeconds"},
    {"StatefulSetSemanticRevisionComparison", {{34, BETA_ON}, {36, GONE}}},
    {"StatefulSetStartOrdinal", {{26, ALPHA}, {27, BETA_ON}, {31, LOCKED}, {34, GONE}},
     "StatefulSets have ordinals"},
    {"StorageCapacityScoring", {{33, ALPHA}}},
    {"StorageNamespaceIndex", {{30, BETA_ON}, {33, DEPRECATED_ON}}},
    {"StorageObjectInUseProtection", {{18, GA}, {23, LOCKED}, {25, GONE}},
     "always: finalizers pvc-protection and pv-protection"},
    {"StorageVersionAPI", {{20, ALPHA}}},
    {"StorageVersionHash", {{18, BETA_ON}}},
    {"StorageVersionMigrator", {{30, ALPHA}, {35, BETA}}},
    {"StreamingCollectionEncodingToJSON", {{33, BETA_ON}, {34, LOCKED}}},
    {"StreamingCollectionEncodingToProtobuf", {{33, BETA_ON}, {34, LOCKED}}},
    {"StreamingProxyRedirects", {{18, DEPRECATED_ON}, {22, DEPRECATED}, {24, GONE}}},
    {"StrictCostEnforcementForVAP", {{30, BETA}, {32, LOCKED}, {35, GONE}}},
    {"StrictCostEnforcementForWebhooks", {{30, BETA}, {32, LOCKED}, {35, GONE}}},
    {"StrictIPCIDRValidation", {{33, ALPHA}, {36, BETA_ON}}},
    {"StructuredAuthenticationConfiguration", {{29, ALPHA}, {30, BETA_ON}, {34, LOCKED}}},
    {"StructuredAuthenticationConfigurationEgressSelector", {{34, BETA_ON}}},
    {"StructuredAuthenticationConfigurationJWKSMetrics", {{35, BETA_ON}}},
    {"StructuredAuthorizationConfiguration", {{29, ALPHA}, {30, BETA_ON}, {32, LOCKED}, {36, GONE}}},
    {"SupplementalGroupsPolicy", {{31, ALPHA}, {33, BETA_ON}, {35, LOCKED}}},
    {"SupportIPVSProxyMode", {{18, GA}, {20, GONE}}},
    {"SupportNodePidsLimit", {{18, BETA_ON}, {20, LOCKED}, {23, GONE}}},
    {"SupportPodPidsLimit", {{18, BETA_ON}, {20, LOCKED}, {23, GONE}}},
    {"SuspendJob", {{21, ALPHA}, {22, BETA_ON}, {24, LOCKED}, {26, GONE}},
     "Jobs have suspend"},
    {"Sysctls", {{18, BETA_ON}, {21, LOCKED}, {23, GONE}}},
    {"SystemdWatchdog", {{32, BETA_ON}, {35, LOCKED}}},
    {"TTLAfterFinished", {{18, ALPHA}, {21, BETA_ON}, {23, LOCKED}, {25, GONE}}},
    {"TaintBasedEvictions", {{18, LOCKED}, {20, GONE}},
     "always: taints evict pods"},
    {"TaintTolerationComparisonOperators", {{35, ALPHA}}},
    {"TokenRequest", {{18, BETA_ON}, {20, LOCKED}, {21, GONE}}},
    {"TokenRequestProjection", {{18, BETA_ON}, {20, LOCKED}, {21, GONE}}},
    {"TokenRequestServiceAccountUIDValidation", {{34, BETA_ON}}},
    {"TopologyAwareHints", {{21, ALPHA}, {23, BETA}, {24, BETA_ON}, {33, LOCKED}, {36, GONE}}},
    {"TopologyAwareWorkloadScheduling", {{36, ALPHA}}},
    {"TopologyManager", {{18, BETA_ON}, {27, LOCKED}, {29, GONE}}},
    {"TopologyManagerPolicyAlphaOptions", {{26, ALPHA}}},
    {"TopologyManagerPolicyBetaOptions", {{26, BETA}, {28, BETA_ON}}},
    {"TopologyManagerPolicyOptions", {{26, ALPHA}, {28, BETA_ON}, {32, GA}, {36, LOCKED}}},
    {"TranslateStreamCloseWebsocketRequests", {{29, ALPHA}, {30, BETA_ON}}},
    {"UnauthenticatedHTTP2DOSMitigation", {{26, BETA}, {29, BETA_ON}}},
    {"UnknownVersionInteroperabilityProxy", {{28, ALPHA}, {36, BETA_ON}}},
    {"UnlockWhileProcessingFIFO", {{36, BETA_ON}}},
    {"UserNamespacesHostNetworkSupport", {{35, ALPHA}}},
    {"UserNamespacesPodSecurityStandards", {{29, ALPHA}, {35, GONE}}},
    {"UserNamespacesStatelessPodsSupport", {{25, ALPHA}, {28, GONE}}},
    {"UserNamespacesSupport", {{28, ALPHA}, {30, BETA}, {33, BETA_ON}, {36, LOCKED}}},
    {"ValidateProxyRedirects", {{18, BETA_ON}, {22, DEPRECATED_ON}, {24, GONE}}},
    {"ValidatingAdmissionPolicy", {{26, ALPHA}, {28, BETA}, {30, LOCKED}, {32, GONE}}},
    {"VolumeAttributesClass", {{29, ALPHA}, {31, BETA}, {34, GA}, {36, LOCKED}},
     "claims may change their VolumeAttributesClass"},
    {"VolumeCapacityPriority", {{21, ALPHA}, {33, GONE}},
     "nodes score by the room on their volumes"},
    {"VolumeLimitScaling", {{35, ALPHA}},
     "no pod goes to a node that lacks the driver of its volumes"},
    {"VolumePVCDataSource", {{18, LOCKED}, {21, GONE}},
     "always: clones"},
    {"VolumeSnapshotDataSource", {{18, BETA_ON}, {20, LOCKED}, {22, GONE}},
     "always: claims from snapshots"},
    {"VolumeSubpath", {{18, GA}, {23, LOCKED}, {25, GONE}}},
    {"VolumeSubpathEnvExpansion", {{18, LOCKED}, {19, GONE}}},
    {"WarningHeaders", {{19, BETA_ON}, {22, LOCKED}, {24, GONE}}},
    {"WatchBookmark", {{18, LOCKED}, {33, GONE}},
     "always: bookmarks"},
    {"WatchCacheInitializationPostStartHook", {{31, BETA}, {36, BETA_ON}}},
    {"WatchFromStorageWithoutResourceVersion", {{28, BETA}, {33, DEPRECATED_OFF}, {36, GONE}}},
    {"WatchList", {{27, ALPHA}, {32, BETA_ON}, {33, BETA}, {34, BETA_ON}}},
    {"WatchListClient", {{30, BETA}, {35, BETA_ON}}},
    {"WinDSR", {{18, ALPHA}, {33, BETA_ON}, {34, LOCKED}}},
    {"WinOverlay", {{18, ALPHA}, {20, BETA_ON}, {34, LOCKED}}},
    {"WindowsCPUAndMemoryAffinity", {{32, ALPHA}}},
    {"WindowsEndpointSliceProxying", {{19, ALPHA}, {21, BETA_ON}, {22, LOCKED}, {25, GONE}}},
    {"WindowsGMSA", {{18, LOCKED}, {21, GONE}}},
    {"WindowsGracefulNodeShutdown", {{32, ALPHA}, {34, BETA_ON}}},
    {"WindowsHostNetwork", {{26, ALPHA_ON}, {33, DEPRECATED}}},
    {"WindowsHostProcessContainers", {{22, ALPHA}, {23, BETA_ON}, {26, LOCKED}, {28, GONE}}},
    {"WindowsRunAsUserName", {{18, LOCKED}, {21, GONE}}},
    {"WorkloadAwarePreemption", {{36, ALPHA}}},
    {"WorkloadWithJob", {{36, ALPHA}}},
    {"ZeroLimitedNominalConcurrencyShares", {{29, BETA}, {30, LOCKED}, {32, GONE}}},
    {"csiMigrationRBD", {{23, ALPHA}, {24, GONE}}},
};
/* clang-format on */

static int
compare_name(const void *name, const void *gate)
{
    return strcmp(name, ((const FeatureGate *)gate)->name);
}

const FeatureGate *
feature_gate_find(const char *name)
{
    return bsearch(name, gates, G_N_ELEMENTS(gates), sizeof(gates[0]), compare_name);
}

const FeatureGate *
feature_gate_at(unsigned i)
{
    return i < G_N_ELEMENTS(gates) ? &gates[i] : NULL;
}

const char *
feature_gate_state_text(unsigned state)
{
    return states[state].text;
}

/* Returns: the index of the stage in release 1.@minor; -1: too early */
static int
stage_index(const FeatureGate *self, int minor)
{
    int i = -1;

    while (i + 1 < FEATURE_GATE_STAGES && self->stages[i + 1].since != 0 &&
           self->stages[i + 1].since <= minor)
        i++;
    return i;
}

/* A gate that is gone keeps its last value: the feature stays, or went with its gate. */
static gboolean
default_of(const FeatureGate *self, int minor)
{
    int i = stage_index(self, minor);

    if (i > 0 && self->stages[i].state == GONE)
        i--;
    return i >= 0 && states[self->stages[i].state].is_on;
}

/* component-base/featuregate: AllAlpha and AllBeta set every gate of their stage that is not set by
 * itself. */
static const char *
user_setting(const Release *self, const FeatureGate *gate)
{
    const char *text = string_map_get(self->gates, gate->name);
    int i = stage_index(gate, self->minor);
    unsigned state = i < 0 ? GONE : gate->stages[i].state;

    if (text == NULL && (state == ALPHA || state == ALPHA_ON))
        return string_map_get(self->gates, "AllAlpha");
    if (text == NULL && (state == BETA || state == BETA_ON))
        return string_map_get(self->gates, "AllBeta");
    return text;
}

gboolean
release_has_gate(const Release *self, const char *name)
{
    const FeatureGate *gate = feature_gate_find(name);

    g_assert(gate != NULL);
    const char *text = self->gates == NULL ? NULL : user_setting(self, gate);
    return text == NULL ? default_of(gate, self->minor) : strcmp(text, "true") == 0;
}

gboolean
release_knows_gate(const char *name)
{
    const FeatureGate *gate = feature_gate_find(name);

    return gate != NULL && gate->effect != NULL && !g_str_has_prefix(gate->effect, "always: ");
}

static gboolean
is_group(const char *name)
{
    return strcmp(name, "AllAlpha") == 0 || strcmp(name, "AllBeta") == 0;
}

char *
release_refuse_gate(int minor, const char *name, gboolean value, char **hint)
{
    const FeatureGate *gate = feature_gate_find(name);

    *hint = NULL;
    if (is_group(name))
        return NULL;
    int i = gate == NULL ? -1 : stage_index(gate, minor);
    if (i < 0 || gate->stages[i].state == GONE) {
        if (gate != NULL)
            *hint = i < 0 ? g_strdup_printf("it comes with 1.%d", gate->stages[0].since)
                          : g_strdup_printf("1.%d had it last", gate->stages[i].since - 1);
        return g_strdup_printf("unrecognized feature gate: %s", name);
    }
    if (!states[gate->stages[i].state].is_locked || default_of(gate, minor) == value)
        return NULL;
    *hint = g_strdup_printf("1.%d has locked it", gate->stages[i].since);
    return g_strdup_printf("cannot set feature gate %s to %s, feature is locked to %s", name,
                           value ? "true" : "false", value ? "false" : "true");
}

gboolean
release_ignores_gate(int minor, const char *name, gboolean value)
{
    const FeatureGate *gate = feature_gate_find(name);

    return gate != NULL && !release_knows_gate(name) && default_of(gate, minor) != value;
}

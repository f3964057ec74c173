/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of Services, their endpoints, Ingresses and NetworkPolicies. Models do not route traffic:
 * these objects count only because people apply them together with workloads, and the answer has to
 * be the server's. Which fields a Service may have depends on its type; addresses of endpoints must
 * not be loopback or link-local. */
#include "checks-private.h"

#include <arpa/inet.h>
#include <string.h>

static gboolean
is_type(const json_t *spec, const char *type)
{
    const char *given = json_path_text(spec, "type");

    return strcmp(*given == '\0' ? "ClusterIP" : given, type) == 0;
}

/* ---- Ports of Services ---- */

static void
check_same_ports(Check *check, const json_t *ports, const char *member)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean is_node_port = strcmp(member, "nodePort") == 0;
    const json_t *port;
    size_t i;

    json_array_foreach((json_t *)ports, i, port) {
        const char *protocol = json_path_text(port, "protocol");
        json_int_t number = json_integer_value(json_object_get(port, member));
        g_autofree char *path = g_strdup_printf("ports[%zu]%s", i, is_node_port ? ".nodePort" : "");
        if (number == 0)
            continue;
        protocol = *protocol == '\0' ? "TCP" : protocol;
        if (g_hash_table_add(seen, g_strdup_printf("%s/%" JSON_INTEGER_FORMAT, protocol, number)))
            continue;
        if (is_node_port)
            check_duplicate(check, json_object_get(port, member), path);
        else
            check_fault(check, port, path,
                        "Duplicate value: core.ServicePort{Name:\"\", Protocol:\"%s\", "
                        "AppProtocol:(*string)(nil), Port:%" JSON_INTEGER_FORMAT
                        ", TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}, "
                        "NodePort:0}",
                        protocol, number);
    }
}

static void
check_ports(Check *check, const json_t *spec)
{
    const json_t *ports = json_path_get(spec, "ports"), *port;
    size_t i;

    json_array_foreach((json_t *)ports, i, port) {
        g_autofree char *name = g_strdup_printf("ports[%zu].name", i),
                        *node_port = g_strdup_printf("ports[%zu].nodePort", i),
                        *target = g_strdup_printf("ports[%zu].targetPort", i);
        const json_t *value = json_path_get(port, "targetPort");
        if (json_array_size(ports) > 1 && *json_path_text(port, "name") == '\0')
            check_required(check, name, "");
        if (is_type(spec, "ClusterIP") &&
            json_integer_value(json_object_get(port, "nodePort")) != 0)
            check_forbidden(check, json_object_get(port, "nodePort"), node_port,
                            "may not be used when `type` is 'ClusterIP'");
        if (value != NULL && (!json_is_integer(value) || json_integer_value(value) != 0) &&
            (!json_is_string(value) || *json_string_value(value) != '\0'))
            check_port(check, value, target);
    }
    check_same_ports(check, ports, "nodePort");
    check_same_ports(check, ports, "port");
}

/* ---- Services ---- */

static void
check_type(Check *check, const json_t *spec, gboolean is_headless)
{
    const char *name = json_path_text(spec, "externalName");
    g_autofree char *host = g_strndup(name, strlen(name) - g_str_has_suffix(name, "."));
    static const char *const forbidden[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};

    if (json_array_size(json_path_get(spec, "ports")) == 0 && !is_headless &&
        !is_type(spec, "ExternalName"))
        check_required(check, "ports", "");
    if (is_headless && (is_type(spec, "LoadBalancer") || is_type(spec, "NodePort")))
        check_fault(check, json_path_get(spec, "clusterIP"), "clusterIPs[0]",
                    "Invalid value: \"None\": may not be set to 'None' for %s services",
                    json_path_text(spec, "type"));
    if (!is_type(spec, "ExternalName"))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(forbidden); i++)
        if (check_has(spec, forbidden[i]) || (i == 0 && *json_path_text(spec, "clusterIP") != '\0'))
            check_forbidden(check, NULL, forbidden[i], "may not be set for ExternalName services");
    if (*host == '\0')
        check_required(check, "externalName", "");
    else if (name_fault_subdomain(host) != NULL)
        check_fault(check, json_path_get(spec, "externalName"), "externalName",
                    "Invalid value: \"%s\": %s", host, name_fault_subdomain(host));
}

static void
check_affinity(Check *check, const json_t *spec)
{
    const json_t *config = json_path_get(spec, "sessionAffinityConfig");
    const json_t *timeout = json_path_get(config, "clientIP.timeoutSeconds");
    gboolean by_client = strcmp(json_path_text(spec, "sessionAffinity"), "ClientIP") == 0;

    if (!by_client && config != NULL)
        check_forbidden(check, config, "sessionAffinityConfig",
                        "must not be set when session affinity is None");
    if (by_client && json_is_integer(timeout) &&
        (json_integer_value(timeout) <= 0 || json_integer_value(timeout) > 86400))
        check_invalid(check, timeout, "sessionAffinityConfig.clientIP.timeoutSeconds",
                      "must be greater than 0 and less than 86400");
}

/* Members that only services of the type LoadBalancer, or reachable from outside, may have. */
static void
check_load_balancer(Check *check, const json_t *spec)
{
    static const struct {
        const char *field, *told;
    } fields[] = {
        {"loadBalancerSourceRanges",      "LoadBalancerSourceRanges"     },
        {"allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts"},
        {"loadBalancerClass",             "loadBalancerClass"            },
    };
    const json_t *policy = json_path_get(spec, "externalTrafficPolicy"), *range;
    const json_t *health = json_path_get(spec, "healthCheckNodePort");
    gboolean is_balanced = is_type(spec, "LoadBalancer");
    gboolean is_outside = is_balanced || is_type(spec, "NodePort") ||
                          json_array_size(json_path_get(spec, "externalIPs")) > 0;
    size_t i;

    for (gsize k = 0; k < G_N_ELEMENTS(fields); k++)
        if (!is_balanced && !api_check_same(NULL, json_path_get(spec, fields[k].field), NULL))
            check_forbidden(check, json_path_get(spec, fields[k].field), fields[k].told,
                            "may only be used when `type` is 'LoadBalancer'");
    json_array_foreach(json_path_get(spec, "loadBalancerSourceRanges"), i, range) {
        g_autofree char *path = g_strdup_printf("LoadBalancerSourceRanges[%zu]", i);
        check_format(check, range, path, "cidr");
    }
    if (!is_outside && *json_path_text(spec, "externalTrafficPolicy") != '\0')
        check_invalid(check, policy, "externalTrafficPolicy",
                      "may only be set for externally-accessible services");
    if (json_integer_value(health) != 0 &&
        !(is_balanced && strcmp(json_path_text(spec, "externalTrafficPolicy"), "Local") == 0))
        check_invalid(check, health, "healthCheckNodePort",
                      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` "
                      "is 'Local'");
}

static void
check_service(Check *check, const json_t *spec)
{
    static const char *const distributions[] = {"PreferClose", NULL};
    const json_t *ip = json_path_get(spec, "clusterIP");
    const json_t *distribution = json_path_get(spec, "trafficDistribution");
    const char *text = json_path_text(spec, "clusterIP");
    gboolean is_headless = strcmp(text, "None") == 0;

    check_type(check, spec, is_headless);
    check_ports(check, spec);
    check_labels(check, json_path_get(spec, "selector"), "selector");
    check_affinity(check, spec);
    if (*text != '\0' && !is_headless && check_format_fault(check, "ip", text, 0) != NULL)
        check_fault(check, ip, "clusterIPs[0]",
                    "Invalid value: \"%s\": must be a valid IP address, (e.g. 10.9.8.7 or "
                    "2001:db8::ffff)",
                    text);
    check_load_balancer(check, spec);
    if (json_is_string(distribution) && check->minor < 34 &&
        strcmp(json_string_value(distribution), "PreferClose") != 0)
        check_unsupported(check, distribution, "trafficDistribution", distributions);
}

/* validateEndpointSubsets(). */
static void
check_subset(Check *check, const json_t *subset)
{
    const json_t *ports = json_path_get(subset, "ports"), *port;
    size_t i;

    if (json_array_size(json_path_get(subset, "addresses")) == 0 &&
        json_array_size(json_path_get(subset, "notReadyAddresses")) == 0)
        check_required(check, "", "must specify `addresses` or `notReadyAddresses`");
    json_array_foreach((json_t *)ports, i, port) {
        g_autofree char *name = g_strdup_printf("ports[%zu].name", i);
        if (json_array_size(ports) > 1 && *json_path_text(port, "name") == '\0')
            check_required(check, name, "");
    }
}

/* ValidateNonSpecialIP(): an address of an endpoint. */
static void
check_no_special(Check *check, const json_t *value, const char *path)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    struct in6_addr address = IN6ADDR_ANY_INIT;
    struct in_addr short_address;

    if (inet_pton(AF_INET, text, &short_address) == 1) { /* ::ffff:1.2.3.4 is 1.2.3.4 to Go */
        address.s6_addr[10] = address.s6_addr[11] = 0xff;
        memcpy(address.s6_addr + 12, &short_address, sizeof short_address);
    } else if (inet_pton(AF_INET6, text, &address) != 1) {
        return;
    }
    const guint8 *bytes = address.s6_addr, *last = bytes + 12;
    gboolean is_short = IN6_IS_ADDR_V4MAPPED(&address);
    if (IN6_IS_ADDR_UNSPECIFIED(&address) || (is_short && memcmp(last, "\0\0\0", 4) == 0))
        check_invalid(check, value, path, "may not be unspecified (0.0.0.0 or ::)");
    if (IN6_IS_ADDR_LOOPBACK(&address) || (is_short && last[0] == 127))
        check_invalid(check, value, path,
                      "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (IN6_IS_ADDR_LINKLOCAL(&address) || (is_short && last[0] == 169 && last[1] == 254))
        check_invalid(check, value, path,
                      "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (IN6_IS_ADDR_MC_LINKLOCAL(&address) || (is_short && memcmp(last, "\340\0\0", 3) == 0))
        check_invalid(check, value, path,
                      "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void
check_endpoint_address(Check *check, const json_t *address)
{
    check_no_special(check, json_path_get(address, "ip"), "ip");
}

/* validateEndpoints() */
static void
check_slice(Check *check, const json_t *slice)
{
    const char *type = json_path_text(slice, "addressType");
    gboolean is_short = strcmp(type, "IPv4") == 0;
    const json_t *endpoint, *address;
    size_t i, k;

    if (!is_short && strcmp(type, "IPv6") != 0)
        return;
    json_array_foreach(json_path_get(slice, "endpoints"), i, endpoint) {
        json_array_foreach(json_path_get(endpoint, "addresses"), k, address) {
            g_autofree char *path = g_strdup_printf("endpoints[%zu].addresses[%zu]", i, k);
            const char *text = json_is_string(address) ? json_string_value(address) : "";
            if (!g_hostname_is_ip_address(text) || (strchr(text, ':') == NULL) != is_short)
                check_invalid(check, address, path,
                              is_short ? "must be a valid IPv4 address"
                                       : "must be a valid IPv6 address");
            check_no_special(check, address, path);
        }
    }
}

/* ---- Ingresses ---- */

/* validateIngressBackend(). */
static void
check_backend(Check *check, const json_t *backend)
{
    gboolean has_resource = check_has(backend, "resource"),
             has_service = check_has(backend, "service");
    const json_t *number = json_path_get(backend, "service.port.number");
    const char *name = json_path_text(backend, "service.port.name");

    if (has_resource == has_service) {
        check_fault(check, backend, "", "Invalid value: \"\": %s",
                    has_resource ? "cannot set both resource and service backends"
                                 : "resource or service backend is required");
        return;
    }
    if (!has_service)
        return;
    if (*name != '\0' && json_integer_value(number) != 0)
        check_fault(check, backend, "",
                    "Invalid value: \"\": cannot set both port name & port number");
    else if (*name == '\0' && json_integer_value(number) == 0)
        check_required(check, "", "port name or number is required");
    else if (*name != '\0')
        check_format(check, json_path_get(backend, "service.port.name"), "service.port.name",
                     "port-name");
    else
        check_port(check, number, "service.port.number");
}

/* validateHTTPIngressPath(). */
static void
check_ingress_path(Check *check, const json_t *value)
{
    static const char *const parts[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const ends[] = {"/..", "/."};
    const json_t *path = json_path_get(value, "path");
    const char *text = json_path_text(value, "path"), *type = json_path_text(value, "pathType");
    gboolean is_free = strcmp(type, "ImplementationSpecific") == 0;
    json_auto_t *empty = json_string("");

    if (*type == '\0' || (is_free && *text == '\0'))
        return;
    if (*text != '/')
        check_invalid(check, path == NULL ? empty : path, "path", "must be an absolute path");
    for (gsize i = 0; !is_free && i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *detail = g_strdup_printf("must not contain '%s'", parts[i]);
        if (strstr(text, parts[i]) != NULL)
            check_invalid(check, path, "path", detail);
    }
    for (gsize i = 0; !is_free && i < G_N_ELEMENTS(ends); i++) {
        g_autofree char *detail = g_strdup_printf("cannot end with '%s'", ends[i]);
        if (g_str_has_suffix(text, ends[i]))
            check_invalid(check, path, "path", detail);
    }
}

static void
check_ingress(Check *check, const json_t *spec)
{
    if (json_array_size(json_path_get(spec, "rules")) == 0 && !check_has(spec, "defaultBackend"))
        check_fault(check, NULL, "",
                    "Invalid value: []networking.IngressRule(nil): either `defaultBackend` or "
                    "`rules` must be specified");
}

static void
check_class_parameters(Check *check, const json_t *value)
{
    const char *scope = json_path_text(value, "scope");

    if (strcmp(scope, "Namespace") == 0 && !check_has(value, "namespace"))
        check_required(check, "namespace", "`parameters.scope` is set to 'Namespace'");
    if ((*scope == '\0' || strcmp(scope, "Cluster") == 0) && check_has(value, "namespace"))
        check_forbidden(check, json_path_get(value, "namespace"), "namespace",
                        "`parameters.scope` is set to 'Cluster'");
}

/* ---- NetworkPolicies ---- */

static void
check_policy_port(Check *check, const json_t *value)
{
    const json_t *port = json_path_get(value, "port"), *end = json_path_get(value, "endPort");

    if (port != NULL)
        check_port(check, port, "port");
    if (!json_is_integer(end))
        return;
    if (port == NULL || json_is_string(port)) {
        check_invalid(check, end, "endPort",
                      port == NULL ? "may not be specified when `port` is not specified"
                                   : "may not be specified when `port` is non-numeric");
        return;
    }
    if (json_integer_value(end) < json_integer_value(port))
        check_invalid(check, end, "endPort", "must be greater than or equal to `port`");
    check_port(check, end, "endPort");
}

static void
check_policy_peer(Check *check, const json_t *peer)
{
    gboolean has_selector = check_has(peer, "podSelector") || check_has(peer, "namespaceSelector");

    if (!has_selector && !check_has(peer, "ipBlock"))
        check_required(check, "", "must specify a peer");
    if (has_selector && check_has(peer, "ipBlock"))
        check_forbidden(check, peer, "", "may not specify both ipBlock and another peer");
}

const CheckRule check_service_rules[] = {
  /* clang-format off */
    {"ValidateService",                         "core.v1.ServiceSpec",                           check_service         },
    {"validateEndpointSubsets",                 "core.v1.EndpointSubset",                        check_subset          },
    {"ValidateNonSpecialIP", "core.v1.EndpointAddress", check_endpoint_address},
    {"ValidateEndpointSlice", "discovery.v1.EndpointSlice", check_slice},
    {"ValidateIngressSpec",                     "networking.v1.IngressSpec",                     check_ingress         },
    {"validateIngressBackend",                  "networking.v1.IngressBackend",                  check_backend         },
    {"validateHTTPIngressPath",                 "networking.v1.HTTPIngressPath",                 check_ingress_path    },
    {"validateIngressClassParametersReference", "networking.v1.IngressClassParametersReference", check_class_parameters},
    {"ValidateNetworkPolicyPort",               "networking.v1.NetworkPolicyPort",               check_policy_port     },
    {"ValidateNetworkPolicyPeer",               "networking.v1.NetworkPolicyPeer",               check_policy_peer     },
    {NULL,                                      NULL,                                            NULL                  },
  /* clang-format on */
};

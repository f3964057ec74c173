# SPDX-License-Identifier: GPL-3.0-or-later
"""What real clients do on a served cluster, each in a namespace of its own; for clients.sh.
   clients.py CLIENTS FOLDER [CLIENT...]

CLIENTS: the folder with the programs. A step is a command, its exit status, and patterns that its output must have, in any order."""
import os
import re
import subprocess
import sys

clients, folder = sys.argv[1:3]
wanted = sys.argv[3:] or ["kubectl-1.20", "kubectl-1.24", "kubectl-1.30", "kubectl-1.32", "kubectl-1.35", "helm-3.9", "helm-3.17", "helm-4.1",
                          "client-node"]
HERE = os.path.dirname(os.path.abspath(__file__))

APP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.25", ports: [{containerPort: 8080}]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:16", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
MIXED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: before}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: unknown}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: behind}
"""
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: '1'\n",
    "values.yaml": "image: shop:1\ncolor: blue\n",
    "templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-conf}\ndata: {color: {{ .Values.color }}}\n",
    "templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\n"
                              "spec: {selector: {app: shop}, ports: [{port: 80}]}\n",
    "templates/claim.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: {{ .Release.Name }}-data}\n"
                            "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
    "templates/deployment.yaml": """apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: c, image: {{ .Values.image }}, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: {{ .Release.Name }}-data}}]
""",
    "templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-hook, annotations: {helm.sh/hook: pre-install}}\n",
}

# (first version that has it, command, status, patterns)
KUBECTL = [
    (20, "version", 0, r"Server Version:.*v?1\.32"),
    (20, "apply -f app.yaml", 0, "configmap/settings created", "service/web created", "deployment.apps/web created", "statefulset.apps/db created"),
    (20, "apply -f app.yaml", 0, "configmap/settings unchanged", "deployment.apps/web unchanged"),
    (20, "apply -f mixed.yaml", 1, "configmap/before created", "configmap/behind created",
     r'no matches for kind "Gadget" in version "example.com/v1"'),
    (20, "rollout status deploy/web --timeout=60s", 0, 'deployment "web" successfully rolled out'),
    (20, "rollout status sts/db --timeout=60s", 0, "partitioned roll out complete: 2 new pods have been updated|2 pods at revision"),
    (20, "wait --for=condition=Available deploy/web --timeout=30s", 0, "deployment.apps/web condition met"),
    (20, "get deploy,sts,svc,cm,pvc,pods", 0, r"deployment.apps/web +2/2 +2 +2", r"statefulset.apps/db +2/2", r"service/web +ClusterIP +10\.",
     r"configmap/settings +1", r"persistentvolumeclaim/data-db-1 +Bound", r"pod/db-1 +1/1 +Running"),
    (20, "get pods -o wide --sort-by=.metadata.name", 0, r"db-0 +1/1 +Running +0 .*node-\d"),
    (20, "get pod db-0 -o jsonpath={.spec.volumes[0].persistentVolumeClaim.claimName}", 0, "^data-db-0$"),
    (20, "get cm settings -o yaml", 0, "color: blue"),
    (20, "describe deploy web", 0, r"Replicas: +2 desired \| 2 updated \| 2 total \| 2 available", "ScalingReplicaSet"),
    (20, "describe pod db-0", 0, r"Claim(Name)?: +data-db-0", "SuccessfulAttachVolume"),
    (20, "describe pvc data-db-0", 0, r"Status: +Bound", r"Used By: +db-0"),
    (20, "describe node node-0", 0, r"Allocated resources:", r"Ready +True"),
    (20, "scale deploy web --replicas=3", 0, "deployment.apps/web scaled"),
    (20, "set image deploy/web web=nginx:1.26", 0, "deployment.apps/web image updated"),
    (20, "rollout status deploy/web --timeout=60s", 0, "successfully rolled out"),
    (20, "rollout history deploy/web", 0, r"(?m)^1 +<none>", r"(?m)^2 +<none>"),
    (20, "rollout undo deploy/web", 0, "deployment.apps/web rolled back"),
    (20, "rollout restart sts/db", 0, "statefulset.apps/db restarted"),
    (20, "patch svc web -p {\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":9090}]}}", 0, "service/web patched"),
    (20, "patch svc web --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/ports/0/targetPort\",\"value\":81}]", 0, "service/web patched"),
    (20, "patch svc web --type=merge -p {\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 0, "service/web patched"),
    (20, "label pods -l app=db tier=back", 0, "pod/db-0 labeled"),
    (20, "annotate deploy web note=x", 0, "deployment.apps/web annotated"),
    (20, "diff -f changed.yaml", 1, r"(?m)^-  color: blue", r"(?m)^\+  color: green", r"(?m)^\+      - image: nginx:1.27"),
    (20, "edit cm settings", 0, "configmap/settings edited"),
    (20, "apply -f changed.yaml", 0, "configmap/settings configured", "deployment.apps/web configured"),
    (20, "apply -f changed.yaml --server-side --force-conflicts", 0, "configmap/settings serverside-applied"),
    (20, "apply -f changed.yaml --dry-run=server", 0, r"deployment.apps/web (unchanged|configured) \(server dry run\)"),
    (20, "create --raw /api/v1/namespaces/{ns}/configmaps -f raw.json", 0, '"name":"raw"'),
    (20, "get --raw /apis/apps/v1/namespaces/{ns}/deployments/web/scale", 0, '"kind":"Scale"'),
    (20, "explain pod.spec.containers.image", 0, r"image"),
    (20, "api-resources --api-group=apps", 0, r"deployments +deploy"),
    (20, "auth can-i create pods", 0, "yes"),
    (20, "expose deploy web --type=LoadBalancer --name=lb", 0, "service/lb exposed"),
    (20, "get svc lb", 0, r"lb +LoadBalancer +10\.\d+\.\d+\.\d+ +<pending> +8080:3\d{4}/TCP"),
    (20, "get endpoints web", 0, r"web +10\.\S+:8080"),
    (20, "run one --image=busybox --restart=Never", 0, "pod/one created"),
    (20, "get nodes --field-selector spec.unschedulable=false", 0, "node-0"),
    (24, "create token default --duration=1h", 0, r"^ey[\w-]+\.ey[\w-]+\.[\w-]+$"),
    (24, "get deploy web --subresource=scale", 0, r"NAME +DESIRED +AVAILABLE", r"web +2 +"),
    (24, "get deploy web --subresource=status", 0, r"NAME +READY +UP-TO-DATE", r"web +\d/2"),
    (24, "apply -f changed.yaml --validate=strict", 0, "configmap/settings"),
    (24, "describe pod db-0", 0, r"Scheduled +(\d+m)?\d*s? +default-scheduler"),
    (26, "events", 0, r"(?m)^(\d+m)?\d*s? .*ScalingReplicaSet"),
    (20, "top nodes", 0, r"node-0 +\d+m +\d+% +\d+Mi +\d+%"),
    (20, "top pods", 0, r"db-0 +\d+m +\d+Mi"),
    (20, "drain node-0 --ignore-daemonsets --force --timeout=60s --pod-selector=app=nothing", 0, "node/node-0 cordoned"),
    (20, "uncordon node-0", 0, "node/node-0 uncordoned"),
    (20, "delete -f changed.yaml", 0, r'configmap "settings" deleted', r'statefulset.apps "db" deleted'),
    (20, "delete pvc --all", 0, 'persistentvolumeclaim "data-db-0" deleted'),
    (20, "delete svc lb", 0, 'service "lb" deleted'),
    (20, "get deploy,sts,svc,pvc", 0, "No resources found"),
]
HELM = [
    (3, "version", 0, "v[34]"),
    (3, "install shop chart --wait --timeout 60s", 0, "STATUS: deployed", "REVISION: 1"),
    (3, "list", 0, r"shop\s+\S+\s+1\s+.*deployed\s+shop-0.1.0"),
    (3, "status shop", 0, "STATUS: deployed"),
    (3, "get manifest shop", 0, "kind: Deployment", "color: blue"),
    (3, "upgrade shop chart --set image=shop:2,color=green --wait --timeout 60s", 0, "REVISION: 2"),
    (3, "history shop", 0, r"(?m)^1\s.*superseded", r"(?m)^2\s.*deployed"),
    (3, "rollback shop 1 --wait --timeout 60s", 0, "Rollback was a success"),
    (3, "get values shop", 0, "null"),
    (3, "upgrade --install other chart --dry-run", 0, "STATUS: pending-install"),
    (3, "uninstall shop --wait --timeout 60s", 0, 'release "shop" uninstalled'),
    (3, "list -q", 0, "^$"),
]
n = failed = 0


def report(good, name, text=""):
    global n, failed
    n += 1
    failed += not good
    print("ok" if good else "not ok", n, "-", name, flush=True)
    for line in text.splitlines()[-30:] if not good else []:
        print("#", line)


def write(name, text):
    os.makedirs(os.path.dirname(os.path.join(folder, name)) or folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def run(words, home):
    environment = dict(os.environ, HOME=home, KUBECONFIG=os.path.join(folder, "kubeconfig"), KUBE_EDITOR="sed -i s/blue/red/")
    try:
        done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as slow:
        return -1, f"no end after 120 s\n{slow.stdout}"


def steps(client, program, version, table):
    """Those of @table that @version has."""
    namespace = client.replace(".", "-")
    home = os.path.join(folder, namespace)
    os.makedirs(home)
    run([os.path.join(clients, "kubectl-1.32"), "create", "namespace", namespace], home)
    for since, command, status, *patterns in table:
        if version < since:
            continue
        found, text = run([program, "-n", namespace, *command.replace("{ns}", namespace).split()], home)
        missing = [pattern for pattern in patterns if not re.search(pattern, text)]
        report(found == status and not missing, f"{client} {command}".replace("#", ""),
               f"{text}\nstatus {found}, wanted {status}; missing: {missing}")


write("app.yaml", APP)
write("changed.yaml", APP.replace("blue", "green").replace("1.25", "1.27"))
write("mixed.yaml", MIXED)
write("raw.json", '{"metadata": {"name": "raw"}}')
for name, text in CHART.items():
    write("chart/" + name, text)
for client in wanted:
    program = os.path.join(clients, client)
    if client == "client-node":
        if not os.path.isdir(os.path.join(clients, "node_modules", "@kubernetes", "client-node")):
            n += 1
            print("ok", n, "-", client, "# SKIP it is not there")
            continue
        found, text = run(["node", os.path.join(HERE, "client-node.js"), os.path.join(clients, "node_modules")], folder)
        report(found == 0, client, text)
    elif not os.access(program, os.X_OK):
        n += 1
        print("ok", n, "-", client, "# SKIP it is not there")
    elif client.startswith("kubectl"):
        steps(client, program, int(client.split(".")[1]), KUBECTL)
    else:
        steps(client, program, int(client[5]), HELM)
print(f"1..{n}")
sys.exit(failed > 0)

#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Patches give what a real kubectl makes of them (`kubectl patch --local` runs the API server's own code), or are refused
# as there. Skipped without kubectl.
. "${KVOLSIM_SRCDIR:?}/tests/lib/shell.sh"

tool=$KVOLSIM_BUILDDIR/tests/serve/patch-file
HOME=$scratch # no configuration of a real cluster
export HOME

cat >"$scratch/pod.json" <<'EOF'
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x/y", "x/z"],
 "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}]},
 "spec": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "t", "operator": "Exists"}],
  "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
  "containers": [{"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}],
    "volumeMounts": [{"name": "v", "mountPath": "/v"}]}, {"name": "two", "image": "i:2", "command": ["sh", "-c"]}]}}
EOF

# patched TYPE PATCH: ours and kubectl's, compared. Fields that kubectl adds to a typed object are none of the patch.
patched()
{
    printf '%s' "$2" >"$scratch/patch.json"
    real=0
    kubectl patch --local -f "$scratch/pod.json" --type "$1" --patch-file "$scratch/patch.json" -o json >"$scratch/real.json" 2>/dev/null || real=$?
    ours=0
    "$tool" "$1" "$scratch/pod.json" "$scratch/patch.json" >"$scratch/ours" || ours=$?
    if [ $real -ne 0 ] || [ $ours -ne 0 ]; then
        echo "status $ours, but kubectl has $real" >"$scratch/faults"
        [ $real -ne 0 ] && [ $ours -ne 0 ]
    else
        "$tool" sort "$scratch/real.json" >"$scratch/real"
        diff "$scratch/ours" "$scratch/real" >"$scratch/faults"
    fi
    result $? "$1 $2" "$scratch/faults"
}

if ! command -v kubectl >/dev/null || ! kubectl patch --local -f "$scratch/pod.json" -p '{}' -o json >/dev/null 2>&1; then
    skip_all "kubectl is not here"
fi
while IFS=' ' read -r type patch; do
    patched "$type" "$patch"
done <<'EOF'
strategic {"spec":{"containers":[{"name":"two","image":"i:3"}]}}
strategic {"spec":{"containers":[{"name":"three","image":"i:3"}]}}
strategic {"spec":{"$setElementOrder/containers":[{"name":"two"},{"name":"one"}],"containers":[{"name":"two","command":["z"]}]}}
strategic {"spec":{"$setElementOrder/containers":[{"name":"two"}],"containers":[{"name":"one","image":"i:9"}]}}
strategic {"spec":{"containers":[{"name":"one","$patch":"delete"},{"name":"new","image":"n"}]}}
strategic {"spec":{"containers":[{"$patch":"replace"},{"name":"new","image":"n"}]}}
strategic {"spec":{"containers":[{"image":"n"}]}}
strategic {"spec":{"containers":[{"name":"one","$patch":"merge"}]}}
strategic {"spec":{"containers":[{"name":"one","env":[{"name":"A","$patch":"delete"},{"name":"C","value":"3"}],"ports":[{"containerPort":81,"name":"x"}]}]}}
strategic {"spec":{"containers":[{"name":"one","volumeMounts":[{"name":"w","mountPath":"/v","readOnly":true},{"name":"w","mountPath":"/w"}]}]}}
strategic {"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]}}
strategic {"spec":{"volumes":[{"name":"v","$retainKeys":["name"],"hostPath":{"path":"/x"}}]}}
strategic {"spec":{"tolerations":[{"key":"u"}],"nodeSelector":{"zone":"a"}}}
strategic {"spec":{"nodeSelector":{"$patch":"replace","zone":"a"}}}
strategic {"spec":{"nodeSelector":null,"hostname":"h"}}
strategic {"metadata":{"$deleteFromPrimitiveList/finalizers":["x/y"],"finalizers":["x/w"]}}
strategic {"metadata":{"$setElementOrder/finalizers":["x/z","x/y","x/v"],"finalizers":["x/v"]}}
strategic {"metadata":{"ownerReferences":[{"uid":"1","$patch":"delete"}]}}
merge {"spec":{"nodeSelector":{"disk":null,"zone":"a"},"containers":[{"name":"x","image":"y"}]}}
merge {"metadata":{"labels":null,"annotations":{"a":"b","c":null}}}
json [{"op":"test","path":"/metadata/labels/a","value":"b"},{"op":"replace","path":"/spec/containers/-1/image","value":"z"}]
json [{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/a~1b","value":"c"}]
json [{"op":"move","from":"/spec/containers/0","path":"/spec/containers/1"},{"op":"remove","path":"/metadata/finalizers/0"}]
json [{"op":"copy","from":"/spec/volumes/0","path":"/spec/volumes/-"},{"op":"replace","path":"/spec/volumes/2/name","value":"u"}]
json [{"op":"remove","path":"/metadata/labels/nothing"}]
json [{"op":"test","path":"/spec/nodeSelector/disk","value":"hdd"}]
EOF
cases_end

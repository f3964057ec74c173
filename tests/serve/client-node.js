// SPDX-License-Identifier: GPL-3.0-or-later
// @kubernetes/client-node with the written kubeconfig ($KUBECONFIG): objects, a watch, an informer; for clients.py.
// client-node.js NODE_MODULES
const assert = require("node:assert");
const k8s = require(process.argv[2] + "/@kubernetes/client-node");

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api), apps = config.makeApiClient(k8s.AppsV1Api);
const namespace = "default";

async function until(holds, what) {
    for (let i = 0; i < 200; i++) {
        if (holds()) return;
        await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail(what);
}

async function main() {
    assert.equal((await core.listNode()).items.length, 3);

    const seen = [];
    const watch = await new k8s.Watch(config).watch(`/api/v1/namespaces/${namespace}/configmaps`, { allowWatchBookmarks: true },
        (type, object) => seen.push(`${type} ${object.metadata.name}`), () => {});
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "node" }, data: { a: "b" } } });
    await core.patchNamespacedConfigMap({ name: "node", namespace, body: [{ op: "replace", path: "/data/a", value: "c" }] });
    assert.equal((await core.readNamespacedConfigMap({ name: "node", namespace })).data.a, "c");
    await core.deleteNamespacedConfigMap({ name: "node", namespace });
    await until(() => seen.includes("DELETED node"), seen.join());
    assert.deepEqual(seen.filter((line) => line.endsWith(" node")), ["ADDED node", "MODIFIED node", "DELETED node"]);
    watch.abort();

    const pods = new Set();
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, () => core.listNamespacedPod({ namespace }));
    informer.on("add", (pod) => pods.add(pod.metadata.name));
    informer.on("delete", (pod) => pods.delete(pod.metadata.name));
    await informer.start();
    const labels = { app: "node" };
    await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: "node" }, spec: { replicas: 2, selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } } } } });
    await until(() => pods.size === 2, "two pods");
    await apps.deleteNamespacedDeployment({ name: "node", namespace });
    await until(() => pods.size === 0, "no pod");
    await informer.stop();
}

main().catch((error) => {
    console.log(error);
    process.exitCode = 1;
});

// SPDX-License-Identifier: GPL-3.0-or-later
// openapi-tools.mjs PRINT-DOCUMENT MINOR: validates the OpenAPI documents of a release, and makes types of those of version 3.
import { execFileSync } from "node:child_process";
import SwaggerParser from "@apidevtools/swagger-parser";
import openapiTS, { astToString } from "openapi-typescript";

const [print, minor] = process.argv.slice(2);
const get = (path) => JSON.parse(execFileSync(print, [path, minor], { maxBuffer: 1 << 28 }));
let faults = 0;

async function attempt(path, what, call) {
  try {
    await call(get(path)); // each changes what it is given
  } catch (error) {
    faults++;
    console.error(`${path}: ${what}: ${error.message.slice(0, 500)}`);
  }
}

const paths = Object.keys(get("/openapi/v3").paths);
await attempt("/openapi/v2", "validator", (document) => SwaggerParser.validate(document));
for (const path of paths.map((path) => `/openapi/v3/${path}`)) {
  await attempt(path, "validator", (document) => SwaggerParser.validate(document));
  await attempt(path, "types", async (document) => {
    if (!astToString(await openapiTS(document)).includes("io.k8s.")) throw new Error("no types");
  });
}
if (paths.length < 20) throw new Error(`only ${paths.length} documents`);
process.exit(faults === 0 ? 0 : 1);

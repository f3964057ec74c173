# SPDX-License-Identifier: GPL-3.0-or-later
"""Result files against their JSON Schemas: prints a line for each fault.

    schemas.py strict SCHEMA…               are these schemas sound, also for strict validators?
    schemas.py valid KVOLSIM FOLDER FILE…   does each of the files below FOLDER satisfy `kvolsim schema FILE`?

ajv (of npm) validates in its strict mode where node finds it, jsonschema of Python elsewhere."""
import csv
import functools
import json
import os
import subprocess
import sys

AJV = """
const Ajv = require('ajv/dist/2020');
const ajv = new Ajv({strict: true, allErrors: false});
for (const [name, schema, instances] of JSON.parse(require('fs').readFileSync(0))) {
    try {
        const validate = ajv.getSchema(schema.$id) || ajv.compile(schema);
        const bad = instances.findIndex(instance => !validate(instance));
        if (bad >= 0) console.log(`${name}: row ${bad}: ${JSON.stringify(validate.errors[0])}: ${JSON.stringify(instances[bad]).slice(0, 300)}`);
    } catch (fault) { console.log(`${name}: ${fault.message}`); }
}
"""
KEYWORDS = {"$schema", "$id", "$ref", "$defs", "title", "description", "type", "properties", "patternProperties", "required",
            "additionalProperties", "items", "anyOf", "enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems",
            "maxItems", "minProperties", "maxProperties"}


def has_ajv():
    return subprocess.run(["node", "-e", "require('ajv/dist/2020')"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def strict_faults(schema, place):
    """What ajv's strict mode refuses, for machines that have no ajv."""
    if not isinstance(schema, dict):
        return
    for keyword in sorted(set(schema) - KEYWORDS):
        yield f"{place}: unknown keyword {keyword}"
    types = schema.get("type", "")
    if isinstance(types, list) and (len(types) != 2 or types[1] != "null"):
        yield f"{place}: a union of types"
    if "required" in schema and not set(schema["required"]) <= set(schema.get("properties", {})):
        yield f"{place}: a required property is not described"
    for keyword in ("properties", "patternProperties", "$defs"):
        for name, below in schema.get(keyword, {}).items():
            yield from strict_faults(below, f"{place}/{keyword}/{name}")
    for i, below in enumerate(schema.get("anyOf", [])):
        yield from strict_faults(below, f"{place}/anyOf/{i}")
    for keyword in ("items", "additionalProperties"):
        yield from strict_faults(schema.get(keyword), f"{place}/{keyword}")


def field(text):
    if text == "":
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def texts_of(schema):
    """The columns that are text, whatever they look like: a node may be called 1."""
    return {name for name, column in schema["properties"].items() if "string" in column.get("type", "")}


def instances_of(path, schema):
    with open(path, encoding="utf-8") as file:
        if path.endswith(".jsonl"):
            return [json.loads(line) for line in file]
        if path.endswith(".json"):
            return [json.load(file)]
        texts = texts_of(schema)
        lines = [line for line in file if line != "\n" and not line.startswith("# kvolsim ")]
        return [{name: text or None if name in texts else field(text) for name, text in row.items()} for row in csv.DictReader(lines)]


def validate(documents):
    if has_ajv():
        done = subprocess.run(["node", "-e", AJV], input=json.dumps(documents), capture_output=True, text=True, check=False)
        return done.stdout + done.stderr
    import jsonschema
    faults = []
    for name, schema, instances in documents:
        validator = jsonschema.Draft202012Validator(schema)
        step = len(instances) // 2000 + 1
        for instance in instances[:1] + instances[1::step]:
            fault = next(validator.iter_errors(instance), None)
            if fault is not None:
                faults.append(f"{name}: {fault.message[:300]}\n")
                break
    return "".join(faults)


@functools.cache
def schema_of(kvolsim, name):
    return json.loads(subprocess.run([kvolsim, "schema", name], capture_output=True, text=True, check=True).stdout)


def main():
    if sys.argv[1] == "has":
        print("ajv in strict mode" if has_ajv() else "jsonschema of Python")
    elif sys.argv[1] == "strict":
        documents = []
        for path in sys.argv[2:]:
            with open(path, encoding="utf-8") as file:
                schema = json.load(file)
            documents.append((os.path.basename(path), schema, []))
            for fault in strict_faults(schema, os.path.basename(path)):
                print(fault)
            if schema["$id"] != "https://kvolsim.io/v1/schemas/" + os.path.basename(path):
                print(f"{path}: $id is {schema['$id']}")
        print(validate(documents), end="")
    else:
        kvolsim, folder = sys.argv[2:4]
        documents = []
        for name in sys.argv[4:]:
            schema = schema_of(kvolsim, os.path.basename(name))
            documents.append((name, schema, instances_of(os.path.join(folder, name), schema)))
        print(validate(documents), end="")


main()

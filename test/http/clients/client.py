"""Makes a function for each operation of the documents, calls them, and prints what does not fit the documents."""

import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def problems(schema, value, document, at="$"):
    """What of the value does not fit the schema."""
    if "$ref" in schema:
        return problems(document["components"]["schemas"][schema["$ref"].split("/")[-1]], value, document, at)
    if "anyOf" in schema:
        return [] if any(not problems(one, value, document, at) for one in schema["anyOf"]) else [f"{at}: no variant fits"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is not one of {schema['enum']}"]
    kinds = schema.get("type", list(TYPES))
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(TYPES[kind](value) for kind in kinds):
        return [f"{at}: {value!r} is not {kinds}"]
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return [f"{at}: {value!r} does not match {schema['pattern']}"]
    if isinstance(value, list):
        return [p for i, one in enumerate(value) for p in problems(schema.get("items", {}), one, document, f"{at}[{i}]")]
    return object_problems(schema, value, document, at) if isinstance(value, dict) else []


def object_problems(schema, value, document, at):
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{at}.{name}: is missing" for name in schema.get("required", []) if name not in value]
    for name, one in value.items():
        if name in known:
            found += problems(known[name], one, document, f"{at}.{name}")
        elif others is False:
            found.append(f"{at}.{name}: is not in the document")
        elif isinstance(others, dict):
            found += problems(others, one, document, f"{at}.{name}")
    return found


def function_of(base, authorization, document, path, method, operation):
    """A function with the parameters of the operation by name; `body` is the body."""
    in_query = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]

    def call(body=None, **args):
        target = re.sub(r"\{(\w+)\}", lambda m: urllib.parse.quote(str(args[m[1]]), safe=""), path)
        query = urllib.parse.urlencode({n: args[n] for n in in_query if n in args}, doseq=True)
        request = urllib.request.Request(f"{base}{target}?{query}", method=method.upper())
        request.add_header("authorization", authorization)
        if body is not None:
            request.add_header("content-type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, misfits(operation, document, status, text), json.loads(text) if text else None

    return call


def misfits(operation, document, status, text):
    described = operation["responses"].get(str(status)) or operation["responses"].get(f"{status // 100}XX")
    if described is None:
        return [f"status {status} is not in the document"]
    content = described.get("content", {}).get("application/json")
    if content is None:
        return [f"a body with status {status} is not in the document"] if text else []
    return problems(content["schema"], json.loads(text), document)


def filled(value, saved):
    if isinstance(value, str) and value.startswith("$"):
        return saved[value[1:]]
    if isinstance(value, list):
        return [filled(one, saved) for one in value]
    return {k: filled(v, saved) for k, v in value.items()} if isinstance(value, dict) else value


def part_of(operation, body, path):
    part = body
    try:
        for step in path.split("."):
            part = part[int(step)] if step.isdigit() else part[step]
    except (IndexError, KeyError):
        sys.exit(f"{operation} gave no {path}: {json.dumps(body)}")
    return part


def main():
    asked = json.load(sys.stdin)
    functions = {}
    for one in asked["documents"]:
        document = one["document"]
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                functions[operation["operationId"]] = function_of(
                    asked["base"], one["authorization"], document, path, method, operation
                )
    saved, wrong = asked["values"], []
    for step in asked["calls"]:
        args = {k: "true" if v is True else "false" if v is False else v for k, v in filled(step["args"], saved).items()}
        status, found, body = functions[step["operation"]](**args)
        if not str(status).startswith(step["answer"]):
            found.append(f"status {status}: {json.dumps(body)[:300]}")
        wrong += [f"{step['operation']}: {one}" for one in found]
        for name, path in step["saves"].items():
            if str(status).startswith("2"):
                saved[name] = part_of(step["operation"], body, path)
    called = {step["operation"] for step in asked["calls"]}
    print(json.dumps({"wrong": wrong, "uncalled": sorted(set(functions) - called)}))


main()

#!/usr/bin/env python3
"""Checks a JSON document on stdin against a schema:  schema.py SCHEMA.json

Knows what the schemas under tests/data/schema use of JSON Schema: type, enum, const, properties, required,
additionalProperties, items, minItems, minimum, maximum, pattern, anyOf, $ref to #/$defs/NAME. Any other keyword is an
error, so that no rule is passed over in silence.
"""
import json
import re
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
IGNORED = {"$schema", "$id", "$defs", "title", "description", "$comment"}


class Mismatch(Exception):
    pass


def expect(condition, path, what):
    if not condition:
        raise Mismatch(f"{path or '/'}: {what}")


def matches_any(value, schemas, root, path):
    reasons = []
    for schema in schemas:
        try:
            check(value, schema, root, path)
            return
        except Mismatch as mismatch:
            reasons.append(str(mismatch))
    raise Mismatch(f"{path or '/'}: fits none of {len(schemas)} forms: " + "; ".join(reasons))


def check_object(value, schema, root, path):
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        expect(name in value, path, f"no member '{name}'")
    for name, member in value.items():
        rest = schema.get("additionalProperties", True)
        if name in known:
            check(member, known[name], root, f"{path}/{name}")
        elif isinstance(rest, dict):
            check(member, rest, root, f"{path}/{name}")
        else:
            expect(rest, path, f"unknown member '{name}'")


def check(value, schema, root, path=""):
    for keyword, rule in schema.items():
        if keyword == "$ref":
            check(value, root["$defs"][rule.removeprefix("#/$defs/")], root, path)
        elif keyword == "type":
            names = rule if isinstance(rule, list) else [rule]
            expect(any(TYPES[name](value) for name in names), path, f"{json.dumps(value)[:60]} is not {' or '.join(names)}")
        elif keyword == "enum":
            expect(value in rule, path, f"{value!r} is none of {rule}")
        elif keyword == "const":
            expect(value == rule, path, f"{value!r} is not {rule!r}")
        elif keyword == "minimum":
            expect(not TYPES["number"](value) or value >= rule, path, f"{value} < {rule}")
        elif keyword == "maximum":
            expect(not TYPES["number"](value) or value <= rule, path, f"{value} > {rule}")
        elif keyword == "pattern":
            expect(not isinstance(value, str) or re.search(rule, value), path, f"{value!r} does not match {rule}")
        elif keyword == "minItems":
            expect(not isinstance(value, list) or len(value) >= rule, path, f"fewer than {rule} items")
        elif keyword == "items":
            for number, item in enumerate(value if isinstance(value, list) else []):
                check(item, rule, root, f"{path}/{number}")
        elif keyword == "anyOf":
            matches_any(value, rule, root, path)
        elif keyword not in IGNORED | {"properties", "required", "additionalProperties"}:
            raise SystemExit(f"schema keyword '{keyword}' is not known here")
    if isinstance(value, dict):
        check_object(value, schema, root, path)


def main(path):
    schema = json.load(open(path))
    try:
        check(json.load(sys.stdin), schema, schema)
    except (Mismatch, json.JSONDecodeError) as error:
        print(f"does not fit {path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else print(__doc__, file=sys.stderr) or 2)

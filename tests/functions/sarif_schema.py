"""The part of SARIF 2.1.0 that gradscope writes, as a JSON Schema: nothing else may occur."""

TEXT = {"type": "string", "minLength": 1}
MESSAGE = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": TEXT},
    "additionalProperties": False,
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": TEXT, "name": TEXT, "shortDescription": MESSAGE, "help": MESSAGE},
    "additionalProperties": False,
}
PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation", "region"],
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+$"}},
            "additionalProperties": False,
        },
        "region": {
            "type": "object",
            "required": ["startLine"],
            "properties": {"startLine": {"type": "integer", "minimum": 1}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {"physicalLocation": PHYSICAL, "message": MESSAGE},
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "level", "message"],
    "properties": {
        "ruleId": TEXT,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION},
        "relatedLocations": {"type": "array", "items": LOCATION, "uniqueItems": True},
    },
    "additionalProperties": False,
}
DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": TEXT,
        "version": TEXT,
        "rules": {"type": "array", "items": RULE, "uniqueItems": True},
    },
    "additionalProperties": False,
}
RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "properties": {"driver": DRIVER},
            "additionalProperties": False,
        },
        "results": {"type": "array", "items": RESULT},
    },
    "additionalProperties": False,
}
SARIF = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "$schema": {"type": "string", "pattern": r"^https://.*sarif.*2\.1\.0\.json$"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
    "additionalProperties": False,
}

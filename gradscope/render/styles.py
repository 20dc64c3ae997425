"""How each role looks in a terminal: words of rich, which also name what click can do."""

from __future__ import annotations

from gradscope.view.role import Role

STYLES = {
    Role.ROOT: "bold green",
    Role.VIEW: "dim",
    Role.CUSTOM: "bold magenta",
    Role.ACCUMULATE: "cyan",
    Role.SAVED: "yellow",
    Role.HOOKED: "bold red",
    Role.IDLE: "dim strike",
    Role.FOLDED: "dim italic",
    Role.MODULE: "bold",
    Role.CLASS: "magenta",
    Role.PLACE: "dim",
    Role.TYPE: "default",
    Role.SITE: "blue",
    Role.NOTE: "green",
    Role.FINDING: "bold red",
    Role.ADDITION: "green",
}

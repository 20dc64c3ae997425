"""Takes paths, arguments and the names of files out of a recording's texts, the same name the same way everywhere."""

from __future__ import annotations

import json
import re
import sqlite3

from gradscope.store.origin import USER

PATH = "<path>"
ARGUMENT = "<argument>"
_SHORTEST = 3  # characters of an argument that is looked for in messages: shorter ones are in many words
_REST = r"""[^\s'"`<>|,;:()\[\]{}*?]*"""  # of a path
# An absolute path, also on Windows or in a URL, or one below a home directory. None begins after a letter: "N/A".
_ANY_PATH = re.compile(rf"(?<![\w.:/\\<])(?:file:/|~\w*/|/(?=[^\s/])|[A-Za-z]:[\\/]|\\\\){_REST}")
_BELOW_PACKAGES = re.compile(r".*[/\\](?:site|dist)-packages[/\\]|.*[/\\]python3\.\d+[/\\]")
_MESSAGES = "SELECT exception FROM backward UNION SELECT message FROM failure"
_MADE_UP = ("<string>", "<stdin>")


class Redactor:
    """What a recording's texts become. Raises ValueError or TypeError when the recording is damaged."""

    def __init__(self, source: sqlite3.Connection) -> None:
        run = {str(name): json.loads(value) for name, value in source.execute("SELECT name, value FROM run")}
        self._folder, self._argv = str(run.get("cwd", "")), [str(one) for one in run.get("argv") or ()]
        self._files: dict[int, str] = {}
        self._aliases: dict[str, str] = {}  # of a user's file, and of its name without the directory
        self._name_files(source)
        self._messages = {number for (number,) in source.execute(_MESSAGES)}
        self._known = _any_of([name for name in self._aliases if len(name) >= _SHORTEST])
        self._below = re.compile(re.escape(self._folder) + _REST) if len(self._folder) >= _SHORTEST else None
        self._secret = _any_of(self._secrets())

    def string(self, number: int, text: str) -> str:
        """An interned string: the name of a file, an exception, or a name in the program or in torch."""
        if number in self._files:
            return self._files[number]
        return self.message(text) if number in self._messages else self.text(text)

    def text(self, text: str) -> str:
        """A text without paths."""
        if self._known is not None:
            text = self._known.sub(lambda found: self._aliases.get(found[0], PATH), text)
        if self._below is not None:  # it may have a space in it
            text = self._below.sub(PATH, text)
        return _ANY_PATH.sub(PATH, text)

    def message(self, text: str) -> str:
        """A text without paths, and without what the program was called with."""
        text = self.text(text)
        return text if self._secret is None else self._secret.sub(ARGUMENT, text)

    def program(self) -> str:
        """What stands for the program in its command line."""
        first = self._argv[0] if self._argv else ""
        return self._aliases.get(first) or self._aliases.get(_last(first)) or "program"

    def _name_files(self, source: sqlite3.Connection) -> None:
        sql = """SELECT frame.file, string.text, min(frame.origin) FROM frame JOIN string ON string.id = frame.file
          GROUP BY frame.file ORDER BY min(frame.id)"""
        counts = {"file": 0, "library": 0}
        for number, text, origin in source.execute(sql):
            name, kind = str(text), "file" if origin == USER else "library"
            alias = _public_name(name, kind)
            if alias is None:
                counts[kind] += 1
                alias = f"{kind}-{counts[kind]}.py"
            self._files[number] = alias
            if kind == "file" and name not in _MADE_UP:
                self._aliases[name] = alias
                self._aliases.setdefault(_last(name), alias)

    def _secrets(self) -> list[str]:
        """The words of the command line that are worth looking for: not numbers, not what is in many words."""
        words = {part for word in self._argv[1:] for part in (word, *word.split("="))}
        return [word for word in words if len(word) >= _SHORTEST and not _is_number(word)]


def _public_name(name: str, kind: str) -> str | None:
    """A file's name when it says nothing about its owner: one that Python made up, a library's below its packages."""
    if name in _MADE_UP or name.startswith("<frozen "):
        return name
    found = None if kind == "file" else _BELOW_PACKAGES.match(name)
    return None if found is None else name[found.end() :]


def _any_of(texts: list[str]) -> re.Pattern[str] | None:
    """Matches any of the texts where it stands alone; the longest first."""
    ordered = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in ordered)) if ordered else None


def _last(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

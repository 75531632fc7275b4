#!/usr/bin/env python3
"""Check that the demo's questions cannot be answered by matching words.

For every question of questions.jsonl: the files exist, the symbol is found in the first of them, and no content
word of the question occurs in the symbol's item (definition, doc comment; for a type its impl blocks too) or in
the names of its files. Identifiers count by their parts: `write_seq` holds "write" and "seq".

Usage: check_questions.py RUSTLS_SOURCE_FOLDER [QUESTIONS]
Exit status 0 when all questions pass, 1 otherwise.
"""

import json
import pathlib
import re
import sys

STOP_WORDS = frozenset(
    """a about again all also an and any are as at be been before being but by can cannot could did do does each
    every for from had has have how i if in into is it its just make makes may me might most must my no not of off
    on once one only or other our out own right same should so such than that the their them then there these they
    this those through to too under until up us used using very was we were what when where which while who whose
    why will with without would you your really""".split()
)
ITEM_KEYWORDS = r"(?:fn|struct|enum|trait|union|type|const|static|mod)"
VISIBILITY = r"(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+|async\s+|const\s+)*"


def stem(word):
    """A crude stem: plural, -ing and -ed gone, a doubled last letter and a final e dropped."""
    for suffix in ("ing", "ed", "es", "s"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def words_of(text):
    """The lower-case word parts of text; identifiers are split at `_`, digits and camelCase."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return {part.lower() for part in parts}


def same_word(left, right):
    """Whether two words share a stem, or one stem of four letters or more begins the other."""
    a, b = sorted((stem(left), stem(right)), key=len)
    return a == b or (len(a) >= 4 and b.startswith(a) and len(b) - len(a) <= 3)


def item_at(lines, start):
    """The lines of the item that starts at `start`, with the comments and attributes above it.

    The sources are formatted by rustfmt, so an item ends at the first line of its own indentation that closes it.
    """
    indent = re.match(r"\s*", lines[start]).group()
    first = start
    while first > 0 and re.match(re.escape(indent) + r"(//|#)", lines[first - 1]):
        first -= 1
    last = start
    while last < len(lines):
        line = lines[last].rstrip()
        one_line = last == start and (line.endswith(";") or line.endswith("}"))
        closing = line.startswith(indent) and re.match(r"[})\]][;,]?$|\).*;$", line[len(indent):])
        if one_line or (last > start and closing):
            break
        last += 1
    return lines[first : last + 1]


def item_text(source, symbol):
    """The text of `name` or `Type::name` in source, or None. A bare type brings its impl blocks along."""
    lines = source.splitlines()
    if "::" in symbol:
        owner, name = symbol.split("::")
        blocks = [item_at(lines, i) for i, line in enumerate(lines) if is_impl(line, owner)]
    else:
        name, blocks = symbol, [lines]
    definition = re.compile(r"\s*" + VISIBILITY + ITEM_KEYWORDS + r"\s+" + re.escape(name) + r"\b")
    for block in blocks:
        for i, line in enumerate(block):
            if definition.match(line):
                found = list(item_at(block, i))
                if re.search(r"\b(struct|enum)\b", line):
                    for j, other in enumerate(lines):
                        if is_impl(other, name):
                            found += item_at(lines, j)
                return "\n".join(found)
    return None


def is_impl(line, owner):
    """Whether the line opens an impl block of the type `owner`."""
    return re.match(r"\s*impl\b.*?\b" + re.escape(owner) + r"\b(?!.*\bfor\b)", line) is not None


def faults_of(entry, root):
    """What is wrong with one question, as sentences; also the size of the item in lines."""
    missing = [name for name in entry["files"] if not (root / name).is_file()]
    if missing:
        return [f"no such file: {', '.join(missing)}"], 0
    text = item_text((root / entry["files"][0]).read_text(encoding="utf-8"), entry["symbol"])
    if text is None:
        return [f"no {entry['symbol']} in {entry['files'][0]}"], 0
    asked = words_of(entry["question"]) - STOP_WORDS
    faults = []
    for place, there in (("its code", words_of(text)), ("its file names", words_of(" ".join(entry["files"])))):
        hits = sorted(f"{word}~{other}" for word in asked for other in there if same_word(word, other))
        if hits:
            faults.append(f"words that occur in {place}: {', '.join(hits)}")
    return faults, text.count("\n") + 1


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).resolve().parent
    questions = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else here / "questions.jsonl"
    bad = 0
    for number, line in enumerate(questions.read_text(encoding="utf-8").splitlines(), 1):
        entry = json.loads(line)
        faults, size = faults_of(entry, root)
        bad += bool(faults)
        print(f"{number:2} {'FAULT' if faults else 'ok':5} {size:4} lines  {entry['symbol']:50} {entry['question']}")
        for fault in faults:
            print(f"           {fault}")
    print(f"{bad} faulty" if bad else "all questions pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

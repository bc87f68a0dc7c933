"""The README's examples run as they stand, and print what they say."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, capsys):
    code = EXAMPLES[number]
    exec(compile(code, f"README.md, example {number + 1}", "exec"), {})
    promised = re.findall(r"^print\(.*\)  # ([^:\n]+)", code, re.MULTILINE)
    assert promised and capsys.readouterr().out.splitlines() == promised

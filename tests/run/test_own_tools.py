"""Functions of a user as tools of a run: from a call to a run folder, on resume, and who is asked before they run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from foreign_models import folder_of

import assay
from assay.cli.main import main
from assay.errors import ConfigError, UsageError
from assay.lab.asking import Asking
from assay.run import session
from assay.run.own_tools import equipping, tool_names_of
from assay.run.setup import Setup
from assay.run.trust import Trust
from assay.tasks import ALPHABET, task
from assay.verifiers.functions.naming import NAMELESS

TEMPLATE = (
    "{% if tools %}{{ tools[0].function.name }} {% endif %}{% for m in messages %}{{ m.role }}:{{ m.content }};"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
ROWS = [{"prompt": f"{i} teas?", "answer": str(3 * i)} for i in range(40)]
SMALL = {"scale": {"group_size": 2, "num_prompts": 2, "max_new": 8}, "machine": {"hosts": 1}, "quiet": True}
SHOP = '''
from pathlib import Path
Path(__file__).with_suffix(".mark").touch()

def price(item: str, pieces: int = 1) -> int:
    """The price of some pieces."""
    return 3 * pieces
'''


def price(item: str, pieces: int = 1) -> int:
    """The price of some pieces."""
    return 3 * pieces


def without_hint(item) -> int:
    return 3


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.py"
    file.write_text(SHOP)
    return file


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def model_with_a_template(folder: Path, letters: str = ALPHABET) -> Path:
    folder_of("mistral", folder, letters=letters)
    place = folder / "tokenizer_config.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "chat_template": TEMPLATE}))
    return folder


@pytest.mark.slow
def test_a_run_has_the_tools_of_a_file_and_goes_on_with_them(tmp_path: Path, shop: Path) -> None:
    model = model_with_a_template(tmp_path / "model")
    place = tmp_path / "run"
    run = assay.train("grpo", data=ROWS, model=model, tools=f"{shop}:price", steps=1, run=place, **SMALL)
    document = json.loads((place / "run.json").read_text())
    (told,) = json.loads(document["experiment"]["chat"]["tools"])
    assert document["experiment"]["tools"] == [f"{shop}:price"] and str(shop) in document["code"]
    assert told["function"]["name"] == "price" and told["function"]["parameters"]["required"] == ["item"]
    assert f'tools = ["{shop}:price"]' in (place / "run.toml").read_text()
    assert str(run.rollouts(step=1)[0]["prompt"]).startswith("price user:")
    assert run.resume(steps=2).steps == 2
    assert tools_of_an_exam(Asking(Setup(model=str(place)))) == ["price"]
    shop.write_text(SHOP.replace("3 *", "4 *"))
    with pytest.raises(ConfigError, match="tools runs the code"):
        run.resume(steps=3)
    with pytest.raises(ConfigError, match="tools runs the code"):
        tools_of_an_exam(Asking(Setup(model=str(place))))
    assert tools_of_an_exam(Asking(Setup(model=str(place)), Trust.of(code=True))) == ["price"]


def tools_of_an_exam(asking: Asking) -> list[str] | None:
    """The tools that the rows of a run have while its model is asked; None without a world."""
    with asking.equipped(asking.pool()) as pool:
        world = task(pool.shares[0].task).world
        return None if world is None else [tool.name for tool in world.tools]


@pytest.mark.slow
def test_a_tool_without_a_file_is_given_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def local(item: str) -> str:
        """Nothing."""
        return "0"

    model = model_with_a_template(tmp_path / "model")
    run = assay.train("grpo", data=ROWS, model=model, tools=[local], steps=1, run=tmp_path / "run", **SMALL)
    assert "The tool" in (tmp_path / "run" / "run.toml").read_text()
    with pytest.raises(ConfigError, match=r"the tool '.*local' of this run was a Python object"):
        assay.resume(run, steps=2, quiet=True)
    assert assay.resume(run, steps=2, tools=[local], quiet=True).steps == 2
    assert tools_of_an_exam(Asking(Setup(model=str(tmp_path / "run")))) is None
    assert "it is asked without tools" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_line_names_them_too_and_a_dry_run_tells_of_them(
    tmp_path: Path, rows: Path, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_with_a_template(tmp_path / "model")
    line = ["train", "grpo", "--data", str(rows), "--model", str(model), "--steps", "1", "--dry-run"]
    assert main([*line, "--tools", f"{shop}:price"]) == 0
    assert "tools price; plays run apart" in capsys.readouterr().out
    assert main([*line, "--tools", f"{shop}:prize"]) == ConfigError.exit_code
    assert "Did you mean 'price'?" in capsys.readouterr().err


def planned(rows: Path, tools: Sequence[str]) -> Any:
    return session.planned(Setup("grpo", data=(str(rows),), model="countdown", tools=tuple(tools)))[0]


def test_tools_are_in_their_place_while_a_run_goes_on_and_only_then(rows: Path, shop: Path) -> None:
    experiment = planned(rows, [f"{shop}:price"])
    assert not shop.with_suffix(".mark").exists(), "a plan runs nobody's code"
    (share,) = experiment.pool.shares
    with equipping(experiment, None) as equipped:
        world = task(share.task).world
        assert world is not None and world.apart and world.made_of == (f"{shop}:price",)
        assert [tool["function"]["name"] for tool in equipped.chat.schemas or []] == ["price"]
    assert task(share.task).world is None


def test_with_a_tool_of_the_program_alone_all_run_in_this_process(rows: Path, shop: Path) -> None:
    def local(item: str) -> str:
        """Nothing."""
        return "0"

    names, given = tool_names_of([local, f"{shop}:price"])
    assert names[0].startswith(NAMELESS) and list(given.values()) == [local]
    with equipping(planned(rows, names), given) as equipped:
        world = task(equipped.pool.shares[0].task).world
        assert world is not None and not world.apart and [tool.name for tool in world.tools] == ["local", "price"]


def test_a_function_of_a_module_is_named_by_its_file() -> None:
    assert tool_names_of(price)[0] == (f"{Path(__file__).resolve()}:price",)


def test_what_no_run_can_have_is_refused(rows: Path, shop: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tools are for rows of data"):
        session.planned(Setup("grpo", task=("countdown:3",), tools=(f"{shop}:price",)))
    with pytest.raises(UsageError, match="has a weight"):
        planned(rows, [f"{shop}:price=2"])
    with pytest.raises(UsageError, match=r"tools is a function.*not 3, of type int"):
        assay.train("grpo", data=rows, tools=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="'item' of the tool 'without_hint' has no type hint"):
        assay.train("grpo", data=rows, model="countdown", tools=without_hint, run=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_file_of_settings_that_names_tools_runs_nothing_untrusted(rows: Path, shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "theirs.toml"
    file.write_text(f'recipe = "grpo"\ndata = ["{rows}"]\nmodel = "countdown"\ntools = ["{shop}:price"]\n')
    with pytest.raises(ConfigError, match="trust-code"):
        assay.train(config=file, run=tmp_path / "run", quiet=True)
    assert not shop.with_suffix(".mark").exists() and not (tmp_path / "run").exists()

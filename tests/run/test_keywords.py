"""The keywords of a call: settings in every form in which one may write them, types, and what was meant by others."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import ROOT, SIZES, make_model

import assay
from assay.errors import AssayError, ConfigError, UnknownKeyword, UsageError
from assay.known import RECIPES
from assay.run import session

SETTINGS: dict[str, Any] = {name.replace("-", "_"): value for name, value in SIZES.items()}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


class Planned(Exception):
    """In place of the training that would begin now."""


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, model: Path, tmp_path: Path) -> Any:
    """The experiment that a call to `assay.train` describes."""

    def plan(**wishes: Any) -> Any:
        def caught(experiment: Any, *_: Any, **__: Any) -> None:
            raise Planned(experiment)

        monkeypatch.setattr(session, "start", caught)
        with pytest.raises(Planned) as reached:
            assay.train(**{"recipe": "grpo", "task": "countdown", "model": model, "quiet": True, **wishes})
        return reached.value.args[0]

    return plan


SAME = [
    {"settings": {"scale.learning_rate": 3e-3, "scale.group_size": 4, "lora.rank": 8}},
    {"settings": {"scale.learning-rate": "3e-3", "scale.group-size": "4", "lora": 8}},
    {"settings": {"scale": {"learning_rate": 3e-3, "group_size": 4}}, "lora": 8},
    {"scale": {"learning_rate": 3e-3, "group_size": 4}, "lora": {"rank": 8}},
    {"scale": {"learning_rate": 3e-3}, "settings": {"recipe": {"scale": {"group_size": 4}}, "lora": {"rank": 8}}},
    {"learning_rate": 3e-3, "num_generations": 4, "lora_r": 8},
    {"settings": {"learning_rate": 3e-3, "num_generations": 4}, "lora": 8},
]


@pytest.mark.parametrize("wishes", SAME)
def test_a_setting_may_be_written_in_every_form(wishes: dict[str, Any], planned: Any) -> None:
    made = planned(**wishes)
    plain = planned()
    scale = made.recipe.scale
    assert (scale.learning_rate, scale.group_size, made.lora.rank) == (3e-3, 4, 8)
    assert scale.max_new == plain.recipe.scale.max_new, "what is not named stays"


def test_numbers_of_numpy_are_numbers(planned: Any) -> None:
    made = planned(
        steps=np.int64(3), scale={"learning_rate": np.float32(0.5), "group_size": np.int32(4)}, seed=np.int8(2)
    )
    scale = made.recipe.scale
    assert (scale.num_steps, made.seed, scale.group_size, scale.learning_rate) == (3, 2, 4, 0.5)


def test_names_of_trainers_are_arguments(planned: Any, tmp_path: Path) -> None:
    rows = [{"prompt": f"{i} + 1 =", "answer": str(i + 1)} for i in range(90)]
    wishes: dict[str, Any] = {"train_dataset": rows[:50], "eval_dataset": rows[50:], "task": None, "max_steps": 7}
    made = planned(**wishes, reward_funcs=[str.__len__], seed=3)
    share = made.pool.shares[0].task
    assert "rows-" in share and "held_out=" in share and len(made.rewards) == 1
    assert (made.recipe.scale.num_steps, made.seed) == (7, 3)


def test_what_trl_says_is_told(planned: Any, capsys: pytest.CaptureFixture[str]) -> None:
    planned(num_generations=4, quiet=False)
    assert "num_generations=4, in words of Assay, is settings={'scale.group_size': '4'}" in capsys.readouterr().err


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"moedl": "x"}, "Did you mean 'model'?"),
    ({"stpes": 3}, "Did you mean 'steps'?"),
    ({"group_size": 8}, "Here it is scale.group_size: write scale={'group_size': ...}"),
    ({"learning_rte": 1e-3}, "Did you mean scale.learning_rate? Write scale={'learning_rate': ...}."),
    ({"lr": 1e-3}, "write scale={'learning_rate': ...}"),
    ({"batch_size": 8}, "scale.num_prompts"),
    ({"num_epochs": 3}, "Here it is epochs: write epochs=..."),
    ({"dataset": []}, "Here it is data: write data=..."),
    ({"rank": 8}, "write lora={'rank': ...}"),
    ({"args": object()}, "give what it holds as keywords"),
    ({"peft_config": object()}, "lora=RANK trains an adapter"),
    ({"callback": print}, "callbacks takes functions"),
    ({"nothing_like_it": 1}, "It takes "),
    ({"seed": "a"}, "seed is a whole number, and not 'a', a str"),
    ({"steps": "1"}, "steps is a whole number, and not '1', a str"),
    ({"steps": 1.5}, "steps is a whole number, and not 1.5, a float"),
    ({"steps": True}, "steps is a whole number, and not True, a bool"),
    ({"right_from": "1"}, "right_from is a number, and not '1'"),
    ({"system": 3}, "system is text, and not 3"),
    ({"skip_bad_rows": "no"}, "skip_bad_rows is True or False, and not 'no'"),
    ({"task": 3}, "task is a name of `assay list tasks`, or a list of names, and not 3"),
    ({"rewards": len}, "Here it is reward"),
    ({"reward": 3}, "and not 3, of type int"),
    ({"reward": [len, 3]}, "and not 3, of type int"),
    ({"recipe": 3}, "recipe is a name of `assay list recipes`, or a Recipe, and not an int"),
    ({"scale": {"lerning_rate": 1}}, "Did you mean 'learning_rate'?"),
    ({"settings": {"scale": {"group_size": 3}, "scale.group_size": 4}}, "scale.group_size is given twice"),
    ({"scale": {"group_size": 3}, "num_generations": 4}, "scale.group_size is given under TRL's name too"),
    ({"steps": 3, "max_steps": 4}, "steps is given twice"),
    ({"data": "a.jsonl", "train_dataset": "b.jsonl"}, "train_dataset is data here, and both are given"),
    ({"tokenizer": object(), "model": None}, "tokenizer is that of a model which is an object"),
    ({"use_vllm": True}, "the sampler is built in"),
    ({"reward": len, "only_reward": len}, "leave one out"),
]


@pytest.mark.parametrize(("wishes", "says"), WRONG, ids=[", ".join(wishes) for wishes, _ in WRONG])
def test_what_cannot_be_meant_is_answered(wishes: dict[str, Any], says: str, model: Path, tmp_path: Path) -> None:
    with pytest.raises(AssayError) as caught:
        assay.train(
            **{"recipe": "grpo", "task": "countdown", "model": model, "run": tmp_path / "run", "quiet": True, **wishes}
        )
    assert says in str(caught.value) and not (tmp_path / "run").exists()


def test_a_keyword_that_is_none_is_a_type_error_as_in_python() -> None:
    with pytest.raises(TypeError) as caught:
        assay.train("grpo", stepz=3)
    assert isinstance(caught.value, UnknownKeyword) and isinstance(caught.value, UsageError)


def test_a_recipe_as_an_object_gives_the_settings_of_trl_their_meaning(planned: Any) -> None:
    made = planned(recipe=RECIPES["dr-grpo"], beta=0.1)
    assert made.recipe.mechanism.objective.regularise[0].weight == 0.1
    with pytest.raises(UsageError, match="has nothing called"):
        assay.train(RECIPES["reinforce"], task="countdown", model="x/y", epsilon=0.1)


VERBS: dict[str, dict[str, Any]] = {
    "evaluate": {"model": "x", "sample": 3},
    "sample": {"model": "x", "prompt": "y", "max_tokens": 3},
    "resume": {"run": "x", "step": 3},
    "compare": {"stepz": 3},
    "sweep": {"recipe": "grpo", "over": {"scale.group_size": [2]}, "sedes": 3},
    "study": {"described": "x.toml", "quite": True},
    "bank": {"model": "x", "int": "y"},
    "explain": {"recipe": "grpo", "recip": 1},
    "verify": {"gold": "1", "answer": "1", "bye": "x"},
    "export": {"model": "x", "folder": "y", "merged": True},
    "push": {"model": "x", "name": "a/b", "merged": True},
    "plan": {"recipe": "grpo", "model": "x", "gpuz": 3},
}
MEANT = (
    "'n'",
    "max_new",
    "'steps'",
    "'steps'",
    "'seeds'",
    "'quiet'",
    "'into'",
    "'recipe'",
    "'by'",
    "'merge'",
    "'merge'",
    "'gpu'",
)


@pytest.mark.parametrize(("verb", "meant"), list(zip(VERBS, MEANT, strict=True)))
def test_every_verb_answers_a_keyword_that_it_does_not_have(verb: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        ({"compare": lambda **k: assay.compare("grpo", "dapo", **k)}.get(verb) or getattr(assay, verb))(**VERBS[verb])
    wrong = list(VERBS[verb])[-1]
    assert f"assay.{verb} has no argument '{wrong}'" in str(caught.value)
    assert meant in str(caught.value) or verb == "evaluate"


def test_every_public_name_is_there_and_documented() -> None:
    for name in assay.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(assay, name)), name
    assert set(assay.__all__) <= set(dir(assay))


def test_every_function_and_method_has_an_example_that_is_run() -> None:
    """The code blocks of the page are run by tests/test_docs.py."""
    code = "\n".join((ROOT / "docs" / "python.md").read_text().split("```python\n")[1:])
    functions = [name for name in assay.__all__ if inspect.isfunction(getattr(assay, name))]
    methods = [name for kind in (assay.Run, assay.Bank) for name in vars(kind) if not name.startswith("_")]
    wanted = [*(f"assay.{name}(" for name in functions), *(f".{name}" for name in methods if name != "path")]
    assert len(functions) == 14 and [name for name in wanted if name not in code] == []


def test_a_value_of_the_right_type_that_cannot_be_is_refused_by_its_setting(model: Path) -> None:
    with pytest.raises(ConfigError, match="expected int, came 'many'"):
        assay.train("grpo", task="countdown", model=model, scale={"group_size": "many"})

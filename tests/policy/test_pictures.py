"""Pictures in prompts: their ids, what the model reads of them, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import Exact, units
from seeing import EYE, PATCHES, asked, noise, seeing_policy
from typed import tokenizer_in

from assay.errors import ConfigError, DataError, StorageError
from assay.policy import character_tokenizer, fingerprint, load_policy, save_policy
from assay.policy.messages import marked, pictures_in, source_of
from assay.policy.pictures import Eye, Pictures, address_of, ids_of, pixels_of
from assay.prompt import retold, text_of
from assay.run.picture_needs import FILE, keep
from assay.tasks import ALPHABET

EYES = {"shortest_edge": 24}, {"height": 24, "width": 24}
SETTINGS = {
    "image_processor_type": "CLIPImageProcessor",
    "size": EYES[0],
    "crop_size": EYES[1],
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}


def test_the_ids_are_words_of_the_digest() -> None:
    pixels = noise(0)
    data = hashlib.shake_256(b"24x24x3" + pixels.tobytes()).digest(36)
    words = [int.from_bytes(data[4 * k : 4 * k + 4], "little") >> 1 for k in range(9)]
    assert ids_of(pixels, 9).tolist() == [-1 - word for word in words]
    assert (ids_of(pixels, 9) < 0).all() and ids_of(pixels, 4).tolist() == ids_of(pixels, 9)[:4].tolist()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), place=st.integers(0, 24 * 24 * 3 - 1))
def test_a_changed_pixel_is_another_picture(seed: int, place: int) -> None:
    pixels = noise(seed)
    other = pixels.copy()
    other.reshape(-1)[place] ^= 1
    assert (ids_of(pixels, 9) != ids_of(other, 9)).all()
    assert (pixels_of(address_of(pixels)) == pixels).all()


def test_a_prompt_holds_each_picture_at_its_place() -> None:
    tokenizer = tokenizer_in(seeing_policy())
    first, second = noise(1), noise(2)
    plain = tokenizer.render("ab")
    ids = tokenizer.render(asked("ab", first, second, first))
    a, b = ids_of(first, PATCHES), ids_of(second, PATCHES)
    assert ids.tolist() == [plain[0], *a, *b, *a, *plain[1:]]
    assert tokenizer.decode(ids) == tokenizer.decode(plain) == "ab"
    assert (tokenizer.render(({"role": "user", "content": "ab"},)) == plain).all()


def test_a_prompt_of_text_reads_as_before() -> None:
    plain, sees = character_tokenizer(ALPHABET), tokenizer_in(seeing_policy())
    assert sees.vocab == plain.vocab + 1
    assert (plain.render("1 + 2") == sees.render("1 + 2")).all()
    with pytest.raises(DataError, match="reads text alone"):
        plain.render(asked("ab", noise(0)))


@settings(max_examples=20, deadline=None)
@given(height=st.integers(8, 90), width=st.integers(8, 90), seed=st.integers(0, 99))
def test_the_eye_reads_as_that_of_transformers(height: int, width: int, seed: int) -> None:
    from transformers import CLIPImageProcessorPil

    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    theirs = CLIPImageProcessorPil(**{k: v for k, v in SETTINGS.items() if k != "image_processor_type"})
    expected = theirs(pixels, return_tensors="np")["pixel_values"][0]
    np.testing.assert_allclose(Eye.of(SETTINGS)(pixels), expected, atol=units(8, expected))


def test_a_policy_that_sees_is_saved_and_loaded(tmp_path: Path) -> None:
    policy = seeing_policy()
    save_policy(policy, tmp_path / "model")
    again = load_policy(tmp_path / "model")
    assert fingerprint(again) == fingerprint(policy)
    assert tokenizer_in(again).pictures is again.network.pictures  # type: ignore[union-attr]
    prompt = asked("ab", noise(3))
    assert (again.codec.render(prompt) == policy.codec.render(prompt)).all()


def test_transformers_reads_the_folder_and_agrees(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForImageTextToText

    policy = seeing_policy()
    save_policy(policy, tmp_path / "model")
    theirs = AutoModelForImageTextToText.from_pretrained(tmp_path / "model").eval()
    pictures = tokenizer_in(policy).pictures
    assert pictures is not None
    pixels = torch.from_numpy(Eye.of(SETTINGS | {"image_mean": [0.5] * 3, "image_std": [0.5] * 3})(noise(4)))
    ids = policy.codec.render(asked("sum r", noise(4)))
    marks = torch.from_numpy(np.where(ids < 0, pictures.token, ids).astype(np.int64))[None]
    with torch.no_grad():
        expected = theirs(input_ids=marks, pixel_values=pixels[None]).logits[0, -1].log_softmax(0)
    from assay.engine.interface import Span
    from assay.engine.transformers.engine import AdapterEngine

    engine = AdapterEngine(policy.network, end_ids=policy.end_ids, precision="fp32", optimiser=None)
    found = [engine.score([Span(ids, np.array([token], np.int32))])[0].logp[0] for token in (5, 50, 90)]
    exact = Exact(
        policy.network,
        lambda model: {
            "logp": model.inner(input_ids=marks, pixel_values=pixels[None].double()).logits[0, -1].log_softmax(0)
        },
        tokens=len(ids),
    )
    exact.require(logp=expected)
    np.testing.assert_allclose(found, exact.values["logp"][[5, 50, 90]], atol=exact.allowed("logp"))


def test_messages_with_parts() -> None:
    (message,) = asked("one", noise(0))
    content = message["content"]
    assert text_of(content) == "one" and text_of("two") == "two"
    assert text_of(retold(content, str.upper)) == "ONE" and list(
        pictures_in(({"content": retold(content, str.upper)},))
    )
    assert marked([message], "@")[0]["content"] == "@one"
    assert marked([message], None)[0]["content"] == [{"type": "image"}, {"type": "text", "text": "one"}]


@pytest.mark.parametrize(
    "part", [{"type": "image"}, {"type": "video", "path": "x"}, {"type": "image", "url": "https://example.org/x.png"}]
)
def test_parts_that_cannot_be_shown_are_refused(part: dict[str, str]) -> None:
    with pytest.raises(DataError):
        source_of(part)


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"nothing")
    for source in (str(tmp_path / "x.png"), str(tmp_path / "none.png"), "data:image/png;base64,?", "data:image/png,x"):
        with pytest.raises(DataError, match="picture"):
            pixels_of(source)


def test_a_text_cannot_forge_a_picture() -> None:
    pictures = Pictures(token=7, count=PATCHES, eye=Eye.of(SETTINGS))
    with pytest.raises(DataError, match="0 pictures and has 1 mark"):
        pictures.placed(np.array([1, 7, 3], np.int32), [])


@pytest.mark.parametrize(
    "changes",
    [{"image_processor_type": "SiglipImageProcessor"}, {"size": {"shortest_edge": 20}}, {"do_center_crop": False}],
)
def test_other_eyes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Eye.of(SETTINGS | changes)


def test_pictures_are_known_again_from_the_file_of_the_run(tmp_path: Path) -> None:
    def fresh() -> Pictures:
        return Pictures(token=99, count=PATCHES, eye=Eye.of(SETTINGS))

    before = fresh()
    early = before.ids(address_of(noise(1)))
    keep(before, tmp_path)
    shown = [before.ids(address_of(noise(seed))) for seed in (2, 3, 2)]
    lines = (tmp_path / FILE).read_text().splitlines()
    assert len(lines) == 3  # each picture once
    with (tmp_path / FILE).open("a") as file:
        file.write(lines[0][:40])  # a crash
    after = fresh()
    keep(after, tmp_path)
    for ids in (early, *shown):
        assert (after.pixels(ids) == before.pixels(ids)).all()
    after.ids(address_of(noise(5)))
    assert [json.loads(line)["picture"] for line in (tmp_path / FILE).read_text().splitlines()][:3] == [
        json.loads(line)["picture"] for line in lines
    ]
    with pytest.raises(StorageError, match=r"pictures\.jsonl"):
        fresh().pixels(early)


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    from PIL import Image

    pictures = Pictures(token=99, count=PATCHES, eye=Eye.of(SETTINGS))
    Image.fromarray(noise(1)).save(tmp_path / "x.png")
    ids = pictures.ids(str(tmp_path / "x.png"))
    Image.fromarray(noise(2)).save(tmp_path / "x.png")
    with pytest.raises(StorageError, match="has changed"):
        pictures.pixels(ids)


def test_the_shape_is_that_of_the_eye() -> None:
    pictures = tokenizer_in(seeing_policy()).pictures
    assert pictures is not None and pictures.count == (EYE.side // EYE.patch) ** 2 == PATCHES

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import SavedFiles, load, save

from .models import (
    WEIGHTS,
    external_everywhere,
    external_tensor,
    model_with,
    tree,
    value_of,
    write_external_model,
    write_model,
)
from .users import unprivileged

PLAIN = model_with(TensorProto(name="w", data_type=1, dims=[4], float_data=[1, 2, 3, 4]))


def refusal(model: ModelProto, path: str | os.PathLike[str], **options: object) -> str:
    with pytest.raises(ModelError) as caught:
        save(model, path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestTarget:
    def test_new_file_has_the_mode_of_a_new_file(self, tmp_path: Path) -> None:
        ordinary = tmp_path / "ordinary"
        ordinary.touch()
        assert save(PLAIN, tmp_path / "model.onnx") == SavedFiles(tmp_path / "model.onnx", (), {})
        assert (tmp_path / "model.onnx").stat().st_mode == ordinary.stat().st_mode
        assert tree(tmp_path) == {"ordinary": b"", "model.onnx": PLAIN.SerializeToString()}

    def test_existing_file_is_replaced_and_keeps_its_permission_bits(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(b"x" * 100_000)
        path.chmod(0o640)
        before = path.stat().st_ino
        save(PLAIN, path)
        assert onnx.load(path) == PLAIN
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert path.stat().st_ino != before
        assert list(tree(tmp_path)) == ["model.onnx"]

    def test_readers_of_the_old_file_keep_it(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(b"old")
        with path.open("rb") as reader:
            save(PLAIN, path)
            assert reader.read() == b"old"

    def test_bare_name_goes_to_the_current_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        save(PLAIN, "model.onnx")
        assert list(tree(tmp_path)) == ["model.onnx"]

    def test_symlink_is_replaced_and_what_it_leads_to_stays(self, tmp_path: Path) -> None:
        (tmp_path / "real.onnx").write_bytes(b"old")
        for name, goal in (("link.onnx", "real.onnx"), ("dangling.onnx", "nothing")):
            (tmp_path / name).symlink_to(goal)
            save(PLAIN, tmp_path / name)
            assert not (tmp_path / name).is_symlink()
            assert onnx.load(tmp_path / name) == PLAIN
        assert (tmp_path / "real.onnx").read_bytes() == b"old"
        assert not (tmp_path / "nothing").exists()

    def test_other_names_of_a_hard_link_stay(self, tmp_path: Path) -> None:
        (tmp_path / "a.onnx").write_bytes(b"old")
        os.link(tmp_path / "a.onnx", tmp_path / "b.onnx")
        save(PLAIN, tmp_path / "a.onnx")
        assert (tmp_path / "b.onnx").read_bytes() == b"old"

    def test_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        assert "does not exist" in refusal(PLAIN, tmp_path / "none" / "model.onnx")
        assert tree(tmp_path) == {}
        assert not (tmp_path / "none").exists()

    def test_folder_as_target(self, tmp_path: Path) -> None:
        assert "it is a folder" in refusal(PLAIN, tmp_path)

    def test_file_as_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "is no folder" in refusal(PLAIN, tmp_path / "file" / "model.onnx")

    def test_read_only_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir(mode=0o555)
        with unprivileged(tmp_path):
            assert "is read-only" in refusal(PLAIN, folder / "model.onnx")
        assert tree(tmp_path) == {}

    def test_read_only_file(self, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "model.onnx").write_bytes(b"old")
        (folder / "model.onnx").chmod(0o444)
        folder.chmod(0o777)
        with unprivileged(tmp_path):
            assert "it is read-only" in refusal(PLAIN, folder / "model.onnx")
            save(PLAIN, folder / "other.onnx")
        assert (folder / "model.onnx").read_bytes() == b"old"

    def test_devices_and_pipes_are_not_replaced(self, tmp_path: Path) -> None:
        assert "not a regular file" in refusal(PLAIN, "/dev/null")
        os.mkfifo(tmp_path / "pipe")
        assert "not a regular file" in refusal(PLAIN, tmp_path / "pipe")

    def test_impossible_names(self, tmp_path: Path) -> None:
        assert "no valid file name" in refusal(PLAIN, "a\0b")
        assert "name too long" in refusal(PLAIN, tmp_path / ("x" * 300))
        save(PLAIN, tmp_path / ("x" * 250 + ".onnx"))
        save(PLAIN, tmp_path / "ünï ☃ :: 模型.onnx")
        assert len(tree(tmp_path)) == 2

    @pytest.mark.parametrize("suffix", [".json", ".textproto", ".pb", ".ONNX", ""])
    def test_suffix_tells_the_format(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"model{suffix}"
        save(PLAIN, path)
        assert load(path) == PLAIN
        assert path.read_bytes().isascii() == (suffix in (".json", ".textproto"))

    def test_lossy_format_is_refused(self, tmp_path: Path) -> None:
        assert "drops parts of a model" in refusal(PLAIN, tmp_path / "model.onnxtxt")
        assert tree(tmp_path) == {}


class TestSameFolder:
    @pytest.mark.parametrize("name", ["model.onnx", "other.onnx"])
    def test_references_are_kept_and_data_is_not_touched(self, tmp_path: Path, name: str) -> None:
        source = write_external_model(tmp_path)
        before = (tmp_path / "weights.bin").stat()
        for _ in range(2):
            model = load(source)
            model.doc_string = "changed"
            saved = save(model, tmp_path / name, source=source)
            assert saved == SavedFiles(tmp_path / name, (), {})
        assert load(tmp_path / name) == model
        after = (tmp_path / "weights.bin").stat()
        assert (before.st_ino, before.st_mtime_ns, before.st_size) == (
            after.st_ino,
            after.st_mtime_ns,
            after.st_size,
        )
        np.testing.assert_array_equal(value_of(tmp_path / name), WEIGHTS)

    def test_by_another_spelling_of_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = write_external_model(tmp_path / "a")
        (tmp_path / "b").symlink_to("a")
        monkeypatch.chdir(tmp_path / "a")
        save(load(source), tmp_path / "b" / "x.onnx", source="model.onnx")
        assert sorted(tree(tmp_path / "a")) == ["model.onnx", "weights.bin", "x.onnx"]

    def test_data_files_are_never_overwritten_by_the_model(self, tmp_path: Path) -> None:
        source = write_external_model(tmp_path)
        before = tree(tmp_path)
        assert "holds the model's external data" in refusal(
            load(source), tmp_path / "weights.bin", source=source
        )
        assert tree(tmp_path) == before

    def test_without_a_source_the_data_must_lie_there(self, tmp_path: Path) -> None:
        source = write_external_model(tmp_path / "a")
        save(load(source), tmp_path / "a" / "again.onnx")
        (tmp_path / "b").mkdir()
        assert "'weights.bin' is missing" in refusal(load(source), tmp_path / "b" / "model.onnx")
        assert tree(tmp_path / "b") == {}


class TestOtherFolder:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        (tmp_path / "out").mkdir()
        return write_external_model(tmp_path / "in", "deep/er/weights.bin")

    @pytest.fixture
    def out(self, tmp_path: Path) -> Path:
        return tmp_path / "out"

    @pytest.fixture(autouse=True)
    def _source_is_never_changed(self, source: Path) -> Iterator[None]:
        before = tree(source.parent)
        yield
        assert tree(source.parent) == before

    @pytest.mark.parametrize("how", ["copy", "link"])
    def test_data_goes_beside_the_model(self, source: Path, out: Path, how: str) -> None:
        target = out / "model.onnx"
        saved = save(load(source), target, source=source, external_data=how)  # type: ignore[arg-type]
        assert saved == SavedFiles(target, (out / "deep/er/weights.bin",), {})
        assert tree(out) == tree(source.parent)
        assert load(target) == load(source)
        np.testing.assert_array_equal(value_of(target), WEIGHTS)
        linked = (out / "deep/er/weights.bin").samefile(source.parent / "deep/er/weights.bin")
        assert linked == (how == "link")

    @pytest.mark.parametrize("how", ["copy", "link"])
    def test_a_second_time_nothing_is_added(self, source: Path, out: Path, how: str) -> None:
        target = out / "model.onnx"
        save(load(source), target, source=source, external_data=how)  # type: ignore[arg-type]
        before = (out / "deep/er/weights.bin").stat()
        for again in ("copy", "link"):
            saved = save(load(source), target, source=source, external_data=again)  # type: ignore[arg-type]
            assert saved.data == ()
        after = (out / "deep/er/weights.bin").stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)

    def test_links_of_our_own_can_be_converted_again(self, source: Path, out: Path, tmp_path: Path) -> None:
        target = out / "model.onnx"
        save(load(source), target, source=source, external_data="link")
        assert load(source) == load(target)
        save(load(target), out / "again.onnx", source=target)
        (tmp_path / "third").mkdir()
        save(load(target), tmp_path / "third" / "model.onnx", source=target)
        np.testing.assert_array_equal(value_of(tmp_path / "third" / "model.onnx"), WEIGHTS)

    def test_link_across_file_systems(self, source: Path, tmp_path: Path) -> None:
        other = Path("/dev/shm")
        if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("needs a second file system at /dev/shm")
        folder = other / f"onnx-ascend-test-{os.getpid()}"
        folder.mkdir()
        try:
            words = refusal(load(source), folder / "model.onnx", source=source, external_data="link")
            assert "on another file system" in words
            assert tree(folder) == {}
            save(load(source), folder / "model.onnx", source=source)
            assert tree(folder) == tree(source.parent)
        finally:
            shutil.rmtree(folder)

    def test_link_that_cannot_be_marked(
        self, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(os, "setxattr", refuse)
        words = refusal(load(source), out / "model.onnx", source=source, external_data="link")
        assert "cannot be marked" in words
        assert tree(out) == {}

    def test_mode_of_the_data_is_not_widened(self, source: Path, out: Path) -> None:
        (source.parent / "deep/er/weights.bin").chmod(0o600)
        save(load(source), out / "model.onnx", source=source)
        assert stat.S_IMODE((out / "deep/er/weights.bin").stat().st_mode) == 0o600

    @pytest.mark.parametrize("place", external_everywhere())
    def test_references_are_followed_wherever_they_are(self, tmp_path: Path, out: Path, place: str) -> None:
        source = write_model(tmp_path / "from", external_everywhere()[place])
        (source.parent / "there.bin").write_bytes(WEIGHTS.tobytes())
        save(load(source), out / "model.onnx", source=source)
        assert tree(out) == tree(source.parent)

    def test_files_that_nothing_refers_to_any_more_are_left_behind(self, tmp_path: Path, out: Path) -> None:
        source = write_model(
            tmp_path / "from", model_with(external_tensor("a", "a.bin"), external_tensor("b", "b.bin"))
        )
        for name in ("a.bin", "b.bin"):
            (source.parent / name).write_bytes(WEIGHTS.tobytes())
        model = load(source)
        del model.graph.initializer[1]
        save(model, out / "model.onnx", source=source)
        assert sorted(tree(out)) == ["a.bin", "model.onnx"]

    def test_many_data_files(self, tmp_path: Path, out: Path) -> None:
        source = write_model(
            tmp_path / "from", model_with(*(external_tensor(f"w{i}", f"w{i}.bin") for i in range(200)))
        )
        for i in range(200):
            (source.parent / f"w{i}.bin").write_bytes((WEIGHTS + i).tobytes())
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        save(load(source), out / "model.onnx", source=source)
        assert tree(out) == tree(source.parent)
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors

    def test_one_file_under_two_spellings(self, tmp_path: Path, out: Path) -> None:
        model = model_with(external_tensor("a", "w.bin"), external_tensor("b", "./w.bin"))
        source = write_model(tmp_path / "from", model)
        (source.parent / "w.bin").write_bytes(WEIGHTS.tobytes())
        save(load(source), out / "model.onnx", source=source)
        assert tree(out) == tree(source.parent)
        np.testing.assert_array_equal(value_of(out / "model.onnx"), 2 * WEIGHTS)
        (out / "w.bin").write_bytes(b"another")
        saved = save(load(source), out / "model.onnx", source=source)
        assert saved.renamed == {"w.bin": "w-1.bin", "./w.bin": "w-1.bin"}
        np.testing.assert_array_equal(value_of(out / "model.onnx"), 2 * WEIGHTS)

    def test_deeper_data_may_have_the_name_of_the_model(self, tmp_path: Path, out: Path) -> None:
        source = write_external_model(tmp_path / "from", "deep/x.onnx")
        assert save(load(source), out / "x.onnx", source=source).renamed == {}
        np.testing.assert_array_equal(value_of(out / "x.onnx"), WEIGHTS)

    def test_there_is_no_third_way(self, source: Path, out: Path) -> None:
        with pytest.raises(ValueError, match="'copy' or 'link'"):
            save(load(source), out / "model.onnx", source=source, external_data="move")  # type: ignore[arg-type]
        assert tree(out) == {}

    def test_locations_that_escape_are_refused(self, tmp_path: Path, out: Path) -> None:
        (tmp_path / "secret").write_bytes(bytes(64))
        (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
        for location in ("../secret", str(tmp_path / "secret"), "link"):
            model = model_with(external_tensor("w", location))
            assert "external data of tensor 'w'" in refusal(
                model, out / "model.onnx", source=tmp_path / "in" / "m.onnx"
            )
        (tmp_path / "in" / "link").unlink()
        assert tree(out) == {}

    def test_a_folder_beside_the_target_that_leads_elsewhere(
        self, source: Path, out: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        (out / "deep").symlink_to(tmp_path / "elsewhere")
        assert "symlink to elsewhere" in refusal(load(source), out / "model.onnx", source=source)
        assert tree(tmp_path / "elsewhere") == {}

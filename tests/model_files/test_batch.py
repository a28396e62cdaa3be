from __future__ import annotations

from pathlib import Path

import pytest

from onnx_ascend_ext.errors import ModelError
from onnx_ascend_ext.model_files import STDIN, PlannedOutput, collect, make_folders, plan_outputs

from .users import unprivileged


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of models, some of them deeper, hidden, or with a suffix that is none of ours."""
    for name in (
        "b.onnx",
        "a.onnx",
        "deep/a.onnx",
        "deep/er/c.ONNX",
        ".hidden/x.onnx",
        ".x.onnx",
        "w.bin",
        "n.txt",
    ):
        path = tmp_path / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "models" / "folder.onnx").mkdir()
    return tmp_path / "models"


INSIDE = ["a.onnx", "b.onnx", "deep/a.onnx", "deep/er/c.ONNX"]


class TestCollect:
    def test_a_folder_is_the_models_below_it(self, folder: Path) -> None:
        assert collect([folder]) == [folder / name for name in INSIDE]

    def test_a_file_is_itself_whatever_its_suffix(self, folder: Path) -> None:
        assert collect([folder / "w.bin", str(folder / "b.onnx")]) == [folder / "w.bin", folder / "b.onnx"]

    def test_each_file_once(self, folder: Path) -> None:
        assert collect([folder / "b.onnx", folder, folder / "deep"])[0] == folder / "b.onnx"
        assert len(collect([folder / "b.onnx", folder, folder / "deep"])) == len(INSIDE)

    def test_a_missing_file_is_left_to_the_reader(self, folder: Path) -> None:
        assert collect([folder / "none.onnx"]) == [folder / "none.onnx"]

    def test_a_folder_without_models(self, folder: Path) -> None:
        with pytest.raises(ModelError, match=r"no \.onnx file"):
            collect([folder / "folder.onnx"])
        with pytest.raises(ModelError, match=r"no \.onnx file"):
            collect([folder / "folder.onnx", folder / "folder.onnx"])

    def test_a_folder_without_models_beside_others_stands_for_itself(self, folder: Path) -> None:
        given = [folder / "folder.onnx", folder / "a.onnx"]
        assert collect(given) == given

    def test_one_file_in_several_spellings(self, folder: Path) -> None:
        (folder / "other").symlink_to("deep")
        given = [folder / "deep" / "a.onnx", folder / "other" / "a.onnx", folder / "deep" / ".." / "a.onnx"]
        assert collect(given) == [given[0], given[2]]

    def test_a_link_to_a_file_is_another_file(self, folder: Path) -> None:
        (folder / "link.onnx").symlink_to("a.onnx")
        assert len(collect([folder / "a.onnx", folder / "link.onnx"])) == 2

    def test_a_folder_that_cannot_be_listed(self, folder: Path) -> None:
        (folder / "deep").chmod(0)
        words = "deep: cannot be listed: permission denied"
        with unprivileged(folder), pytest.raises(ModelError, match=words):
            collect([folder])

    def test_a_name_that_is_too_long_is_left_to_the_reader(self, folder: Path) -> None:
        given = [folder / ("x" * 300), folder / "a.onnx"]
        assert collect(given) == given

    def test_symlinked_folders_are_not_followed_in_circles(self, folder: Path) -> None:
        (folder / "deep" / "up").symlink_to(folder)
        assert collect([folder]) == [folder / name for name in INSIDE]


class TestPlan:
    def test_one_file_to_a_file(self, folder: Path, tmp_path: Path) -> None:
        assert plan_outputs([folder / "a.onnx"], tmp_path / "x.onnx") == [
            PlannedOutput(folder / "a.onnx", tmp_path / "x.onnx")
        ]

    def test_one_file_into_a_folder(self, folder: Path, tmp_path: Path) -> None:
        assert plan_outputs([folder / "deep/a.onnx"], tmp_path) == [
            PlannedOutput(folder / "deep/a.onnx", tmp_path / "a.onnx")
        ]

    def test_several_files_and_folders(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "z.onnx").touch()
        plan = plan_outputs([tmp_path / "z.onnx", folder], tmp_path / "out")
        assert plan[0] == PlannedOutput(tmp_path / "z.onnx", tmp_path / "out" / "z.onnx")
        assert plan[1:] == [PlannedOutput(folder / name, tmp_path / "out" / name) for name in INSIDE]
        assert not (tmp_path / "out").exists()

    def test_a_folder_with_one_model_still_goes_into_a_folder(self, folder: Path, tmp_path: Path) -> None:
        plan = plan_outputs([folder / "deep" / "er"], tmp_path / "out.onnx")
        assert [planned.target for planned in plan] == [tmp_path / "out.onnx" / "c.ONNX"]

    def test_a_slash_at_the_end_means_a_folder(self, folder: Path, tmp_path: Path) -> None:
        for output in (f"{tmp_path}/new/", f"{folder}/"):
            assert plan_outputs([folder / "deep/a.onnx"], output)[0].target == Path(output, "a.onnx")

    def test_standard_input_goes_to_a_file(self, folder: Path, tmp_path: Path) -> None:
        assert plan_outputs([STDIN], tmp_path / "x.onnx") == [PlannedOutput(STDIN, tmp_path / "x.onnx")]
        for paths in ([STDIN], [folder, STDIN]):
            with pytest.raises(ModelError, match="/dev/stdin: has no name to give to its output"):
                plan_outputs(paths, tmp_path)

    def test_outputs_of_an_earlier_run_are_no_inputs(self, folder: Path) -> None:
        first = plan_outputs([folder], folder / "out")
        make_folders(first, folder / "out")
        for planned in first:
            planned.target.touch()
        assert plan_outputs([folder], folder / "out") == first
        given = [folder / "out" / "a.onnx"]
        assert plan_outputs(given, folder / "x.onnx") == [PlannedOutput(given[0], folder / "x.onnx")]

    def test_in_place(self, folder: Path) -> None:
        assert all(planned.source == planned.target for planned in plan_outputs([folder], folder))

    def test_two_files_of_one_name(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="would be the output of both"):
            plan_outputs([folder / "a.onnx", folder / "deep/a.onnx"], tmp_path / "out")

    def test_an_input_that_is_yet_to_be_read(self, folder: Path) -> None:
        with pytest.raises(ModelError, match="is an input"):
            plan_outputs([folder / "a.onnx", folder / "deep" / "a.onnx"], folder / "deep")

    @pytest.mark.parametrize("arguments", [["a.onnx", "b.onnx"], ["."]])
    def test_several_files_to_a_file(self, folder: Path, arguments: list[str]) -> None:
        with pytest.raises(ModelError, match="is a file"):
            plan_outputs([folder / argument for argument in arguments], folder / "w.bin")


class TestFolders:
    def test_are_made_as_needed(self, folder: Path, tmp_path: Path) -> None:
        plan = plan_outputs([folder], tmp_path / "out")
        for _ in range(2):
            make_folders(plan, tmp_path / "out")
            assert all(planned.target.parent.is_dir() for planned in plan)

    def test_the_parent_of_the_output_must_exist(self, folder: Path, tmp_path: Path) -> None:
        plan = plan_outputs([folder], tmp_path / "none" / "out")
        with pytest.raises(ModelError, match="cannot be made: no such file"):
            make_folders(plan, tmp_path / "none" / "out")
        assert not (tmp_path / "none").exists()

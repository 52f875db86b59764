"""Copy the pipeline's files into the wheel as ``journeylab/rails``, for ``journeylab init``."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

RAILS = ("Snakefile", "workflow", "profiles", "constraints.txt")


class BuildWithRails(build_py):
    """An editable installation reads these files from the repository."""

    def run(self) -> None:
        """Build, and copy the files."""
        super().run()
        if self.editable_mode:
            return
        for name in RAILS:
            copy = Path(self.build_lib) / "journeylab" / "rails" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(name, copy, dirs_exist_ok=True)
            else:
                shutil.copyfile(name, copy)
        environment = (
            Path(self.build_lib) / "journeylab" / "rails" / "workflow/envs/journeylab.yaml"
        )
        own = f"journeylab[pipeline]=={self.distribution.get_version()} # see PIP_FIND_LINKS"
        text = environment.read_text(encoding="utf-8")
        environment.write_text(text.replace("--editable ../..[pipeline]", own), encoding="utf-8")


setup(cmdclass={"build_py": BuildWithRails})

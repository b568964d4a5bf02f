# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Corescale(PythonPackage):
    """Measures how a program scales over cores, explains it and finds the fastest way to launch it."""

    homepage = "https://github.com/OWNER/corescale"
    git = "https://github.com/OWNER/corescale.git"

    license("Apache-2.0", checked_by="corescale")

    version("main", branch="main")

    variant("mpi", default=False, description="Build the bundled programs with ranks of MPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("mpi", when="+mpi")

    depends_on("python@3.11:", type=("build", "run"))
    with default_args(type="run"):
        depends_on("py-typer@0.12:")
        depends_on("py-rich@13:")
        depends_on("py-pydantic@2.6:")
        depends_on("py-numpy@1.26:")
        depends_on("py-scipy@1.11:")
        depends_on("py-pandas@2.1:")
        depends_on("py-matplotlib@3.8:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-pyelftools@0.31:")

    conflicts("platform=darwin", msg="corescale runs on Linux")
    conflicts("platform=windows", msg="corescale runs on Linux")

    def config_settings(self, spec, prefix):
        return {"cmake.define.CMAKE_DISABLE_FIND_PACKAGE_MPI": "OFF" if "+mpi" in spec else "ON"}

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def try_it(self):
        python("packaging/try.py")

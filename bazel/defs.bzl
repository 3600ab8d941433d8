"""For other modules: a test that fails where the build files need repair."""

load("@rules_python//python:defs.bzl", "py_test")

def buildfix_test(name, root, paths = [], args = [], **kwargs):
    """Fails if buildfix finds something to repair.

    Args:
        name: the test's name.
        root: a file in the folder of the repository's root, such as "//:MODULE.bazel". The test reads the repository
            itself, not the sandbox: it is never cached, and runs outside of it.
        paths: what to look at, relative to the root; everything if there is none.
        args: more options, such as "--select=missing-dep".
        **kwargs: what every test takes: size, tags.
    """
    tags = kwargs.pop("tags", [])
    py_test(
        name = name,
        srcs = [Label("//bazel:run_buildfix.py")],
        args = ["$(rootpath %s)" % root] + args + ["--"] + paths,
        data = [root, Label("//engine")],
        env = {"BUILDFIX_ENGINE": "$(rootpath %s)" % Label("//engine")},
        legacy_create_init = 0,  # a repository that is itself called buildfix is no package
        main = Label("//bazel:run_buildfix.py"),
        tags = tags + ["external", "local", "no-cache", "no-sandbox"],
        deps = [Label("//buildfix:main")],
        **kwargs
    )

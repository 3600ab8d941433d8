"""Meanings of well-known Buck symbols, for loads that cannot be resolved here.

Meta's public repositories load them from shims that a plain clone often lacks. They are read as in fbcode, where the
Python targets are made.
"""

def fbcode_target(_kind, **kwargs):
    return _kind(**kwargs)

def non_fbcode_target(_kind = None, **kwargs):
    pass

def fbcode_target_only(_kind, **kwargs):
    return _kind(**kwargs)

def is_fbcode():
    return True

def is_xplat():
    return False

def is_arvr_mode():
    return False

def is_fbcode_target():
    return True

def buck_filegroup(**kwargs):
    native.filegroup(**kwargs)

def buck_genrule(**kwargs):
    native.genrule(**kwargs)

def buck_sh_binary(**kwargs):
    native.sh_binary(**kwargs)

def buck_sh_test(**kwargs):
    native.sh_test(**kwargs)

def buck_command_alias(**kwargs):
    native.command_alias(**kwargs)

def export_file(**kwargs):
    native.export_file(**kwargs)

def fb_xplat_cxx_library(**kwargs):
    native.cxx_library(**kwargs)

def fb_xplat_cxx_binary(**kwargs):
    native.cxx_binary(**kwargs)

def fb_xplat_cxx_test(**kwargs):
    native.cxx_test(**kwargs)

def python_library(**kwargs):
    native.python_library(**kwargs)

def python_binary(**kwargs):
    native.python_binary(**kwargs)

def python_unittest(**kwargs):
    native.python_test(**kwargs)

def python_pytest(**kwargs):
    native.python_test(**kwargs)

def cpp_library(**kwargs):
    native.cxx_library(**kwargs)

def cpp_binary(**kwargs):
    native.cxx_binary(**kwargs)

def cpp_unittest(**kwargs):
    native.cxx_test(**kwargs)

def cpp_python_extension(**kwargs):
    native.cxx_python_extension(**kwargs)

fb_native = native

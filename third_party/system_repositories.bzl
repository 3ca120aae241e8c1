"""External repositories made from the libraries that the system has installed.

Each carries the name and the labels that upstream uses, so a workspace that
wants newer sources declares a repository of that name before the call and
changes nothing else:

    load("@reprise//third_party:system_repositories.bzl", "system_repositories")
    system_repositories()

Compilers search /usr/include by themselves, as a system directory. Naming it
again (`includes = [...]`) breaks #include_next, so no target here does. Each
target lists one header that changes with the version of its library: an
upgrade of a package rebuilds what depends on it.
"""

# What a repository gives: targets (name or "package:name"), the pkg-config
# modules or linker options behind them, and the header that has the version.
_LIBRARIES = {
    "com_github_google_benchmark": struct(
        targets = ["benchmark"],
        linkopts = ["-lbenchmark", "-lpthread"],
        version_header = "benchmark/benchmark.h",
    ),
    "com_google_absl": struct(
        targets = [
            "absl/algorithm:container",
            "absl/base:core_headers",
            "absl/cleanup:cleanup",
            "absl/container:btree",
            "absl/container:flat_hash_map",
            "absl/container:flat_hash_set",
            "absl/container:inlined_vector",
            "absl/debugging:symbolize",
            "absl/flags:flag",
            "absl/flags:parse",
            "absl/flags:usage",
            "absl/functional:function_ref",
            "absl/hash:hash",
            "absl/memory:memory",
            "absl/numeric:bits",
            "absl/numeric:int128",
            "absl/random:random",
            "absl/status:status",
            "absl/status:statusor",
            "absl/strings:cord",
            "absl/strings:str_format",
            "absl/strings:strings",
            "absl/synchronization:synchronization",
            "absl/time:time",
            "absl/types:optional",
            "absl/types:span",
        ],
        # Which libraries these need differs between releases; pkg-config knows.
        modules = [
            "absl_flags",
            "absl_flags_parse",
            "absl_flags_usage",
            "absl_flat_hash_map",
            "absl_flat_hash_set",
            "absl_hash",
            "absl_int128",
            "absl_random_random",
            "absl_status",
            "absl_statusor",
            "absl_str_format",
            "absl_strings",
            "absl_symbolize",
            "absl_synchronization",
            "absl_time",
        ],
        version_header = "absl/base/config.h",
    ),
    "com_google_googletest": struct(
        targets = ["gtest", "gtest_main"],
        linkopts = ["-lgmock", "-lgtest", "-lpthread"],
        target_linkopts = {"gtest_main": ["-lgtest_main"]},
        version_header = "gtest/gtest.h",
    ),
    "com_google_protobuf": struct(
        targets = ["protobuf"],
        linkopts = ["-lprotobuf", "-lpthread"],
        version_header = "google/protobuf/stubs/common.h",
        programs = ["protoc"],
        extra_build = """
proto_lang_toolchain(
    name = "cc_toolchain",
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
""",
    ),
    "cli11": struct(
        targets = ["cli11"],
        version_header = "CLI/Version.hpp",
    ),
    "highway": struct(
        targets = ["hwy"],
        linkopts = ["-lhwy"],
        version_header = "hwy/base.h",
    ),
    "libarchive": struct(
        targets = ["libarchive"],
        linkopts = ["-larchive"],
        version_header = "archive.h",
    ),
    "nlohmann_json": struct(
        targets = ["json"],
        version_header = "nlohmann/json.hpp",
    ),
    # The wire format alone, for the importer.
    "onnx": struct(
        targets = ["onnx_proto"],
        deps = ["@com_google_protobuf//:protobuf"],
        linkopts = ["-lonnx_proto"],
        defines = ["ONNX_ML=1"],
        version_header = "onnx/onnx-ml.pb.h",
    ),
    # oneDNN binds to the OpenMP runtime that comes first:
    # with clang that must be its own, so the runtime is named before it.
    "onednn": struct(
        targets = ["onednn"],
        deps = ["@openmp"],
        linkopts = ["-ldnnl"],
        version_header = "oneapi/dnnl/dnnl_version.h",
    ),
    # The compiler's own runtime: libgomp with gcc, libomp with clang. To compile
    # pragmas a target says copts = REPRISE_COPTS (//:copts.bzl) besides.
    "openmp": struct(
        targets = ["openmp"],
        linkopts = ["-fopenmp"],
    ),
    "zlib": struct(
        targets = ["zlib"],
        linkopts = ["-lz"],
        version_header = "zlib.h",
    ),
}

def _linkopts(ctx, library):
    """The linker options of `library`, those of pkg-config included."""
    linkopts = getattr(library, "linkopts", [])
    modules = getattr(library, "modules", [])
    if modules:
        result = ctx.execute(["pkg-config", "--libs"] + modules)
        if result.return_code != 0:
            fail("pkg-config knows no %s (tools/setup.sh installs it): %s" %
                 (ctx.name, result.stderr))

        # Keep only what the program uses: the list is the union of all targets.
        linkopts = ["-Wl,--push-state,--as-needed"] + [
            option
            for option in result.stdout.strip().split(" ")
            if option.startswith("-l")
        ] + ["-Wl,--pop-state"]
    return linkopts

def _version_header(ctx, header):
    """A link to `header` inside the repository, as [path], or [] if `header` is None."""
    if header == None:
        return []

    # The compiler's answer covers directories such as /usr/include/x86_64-linux-gnu.
    result = ctx.execute(["sh", "-c", "echo '#include <%s>' | ${CXX:-c++} -std=c++17 -M -x c++ -" % header])
    paths = [p for p in result.stdout.replace("\\\n", " ").split(" ") if p.strip().endswith("/" + header)]
    if result.return_code != 0 or not paths:
        fail("%s: no header <%s>; tools/setup.sh installs it" % (ctx.name, header))
    link = "version/" + header
    ctx.symlink(paths[0].strip(), link)
    return [link]

def _system_library_impl(ctx):
    library = _LIBRARIES[ctx.attr.library]
    root = ["package(default_visibility = [\"//visibility:public\"])"]
    packages = {}

    root.append("cc_library(name = \"link\", hdrs = %r, defines = %r, linkopts = %r, deps = %r)" % (
        _version_header(ctx, getattr(library, "version_header", None)),
        getattr(library, "defines", []),
        _linkopts(ctx, library),
        getattr(library, "deps", []),
    ))
    for target in library.targets:
        package, _, name = target.rpartition(":")
        packages.setdefault(package, []).append(
            "cc_library(name = %r, linkopts = %r, deps = [\"//:link\"])" % (
                name,
                getattr(library, "target_linkopts", {}).get(name, []),
            ),
        )
    for program in getattr(library, "programs", []):
        path = ctx.which(program)
        if path == None:
            fail("%s: no program %s; tools/setup.sh installs it" % (ctx.name, program))
        ctx.symlink(path, "bin/" + program)
        root.append("filegroup(name = %r, srcs = [%r])" % (program, "bin/" + program))
    root.append(getattr(library, "extra_build", ""))

    for package, targets in packages.items():
        lines = (root if package == "" else root[:1]) + targets
        ctx.file(package + "/BUILD.bazel" if package else "BUILD.bazel", "\n".join(lines) + "\n")
    if "" not in packages:
        ctx.file("BUILD.bazel", "\n".join(root) + "\n")

_system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {"library": attr.string(mandatory = True)},
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
    doc = "One entry of _LIBRARIES as a repository.",
)

# Bazel asks for these three by name; here they only pass its own rules on.
_STUBS = {
    "remote_coverage_tools": {
        "BUILD.bazel": """
filegroup(name = "coverage_output_generator", srcs = [], visibility = ["//visibility:public"])
filegroup(name = "coverage_report_generator", srcs = [], visibility = ["//visibility:public"])
""",
    },
    "rules_cc": {
        "BUILD.bazel": "",
        "cc/BUILD.bazel": "",
        "cc/defs.bzl": """
cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_import = native.objc_import
objc_library = native.objc_library
""",
    },
    "rules_java": {
        "BUILD.bazel": "",
        "java/BUILD.bazel": "",
        "java/defs.bzl": """
java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_lite_proto_library = native.java_lite_proto_library
java_package_configuration = native.java_package_configuration
java_plugin = native.java_plugin
java_proto_library = native.java_proto_library
java_runtime = native.java_runtime
java_test = native.java_test
java_toolchain = native.java_toolchain
""",
    },
}

def _stub_impl(ctx):
    for path, content in _STUBS[ctx.attr.stub].items():
        ctx.file(path, content)

_stub = repository_rule(
    implementation = _stub_impl,
    attrs = {"stub": attr.string(mandatory = True)},
    doc = "One entry of _STUBS as a repository.",
)

def system_repositories():
    """Declares every repository of this file that does not exist yet."""
    for name in _LIBRARIES:
        if not native.existing_rule(name):
            _system_library(name = name, library = name)
    for name in _STUBS:
        if not native.existing_rule(name):
            _stub(name = name, stub = name)

//! Compiles the part of llama.cpp that computes again, for processors that can do more than the least it is built for.
//!
//! llama-cpp-sys-2 builds that part once, by rustc's target: for any processor with AVX2. llama.cpp can choose by the processor
//! too, among shared libraries beside the program, but this program is one file. So each of [`VARIANTS`] is compiled by llama.cpp's own
//! commands, with a few instructions more, and linked into the program under a name of its own; `src/models/gguf/cpu.rs` takes the best.
//!
//! **Nothing of a variant may be run by chance.** An inline function of C++ is in every object that uses it, and the linker keeps one of
//! them for all. So a variant is joined to one object without such groups, in which every symbol but the entry is local; that is
//! checked, and that nothing of it runs at the program's start. A variant that cannot be built so is left out, with a warning.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::{env, io, thread};

/// Name, and what the processor needs beyond the least, in words that both rustc and the compiler of C know; the fastest last.
///
/// There is none for AMX: GCC 12 compiles that to a program that crashes (`scripts/native-flags`), and a processor with it has bfloat16.
const VARIANTS: [(&str, &[&str]); 3] = [
    ("avxvnni", &["avxvnni"]),
    ("avx512", &["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"]),
    ("avx512bf16", &["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16"]),
];

type Result<T> = std::result::Result<T, String>;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    // Set by llama-cpp-sys-2, where the feature `gguf` has it built.
    let Some(llama) = env::var_os("DEP_LLAMA_GGML_CMAKE_DIR") else { return };
    let native = env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("target-cpu=native"));
    let x86_linux = is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_OS", "linux");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let (mut built, mut failed) = (Vec::new(), Vec::new());
    // What is not optimised is not waited for either, and tests cannot run what this machine cannot.
    if x86_linux && !native && !is("OPT_LEVEL", "0") {
        let wanted = VARIANTS.iter().filter(|(_, needs)| is("PROFILE", "release") || is_here(needs));
        for (name, needs) in wanted {
            match build(name, needs, Path::new(&llama), &out) {
                Ok(()) => built.push((*name, *needs)),
                Err(why) => failed.push(format!("llama.cpp is not built for {name}: {why}")),
            }
        }
    }
    for why in &failed {
        println!("cargo::warning={why}");
    }
    for (name, _) in &built {
        println!("cargo::rustc-link-lib=static={}", entry(name));
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    let base = if native { "native" } else { "base" };
    fs::write(out.join("cpu_builds.rs"), source(base, &built, &failed)).expect("OUT_DIR can be written");
}

/// Whether the machine that builds has all that a variant needs.
fn is_here(needs: &[&str]) -> bool {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default().replace('_', "");
    needs.iter().all(|need| cpu.split_whitespace().any(|flag| flag == *need))
}

fn entry(name: &str) -> String {
    format!("vault_cpu_{name}")
}

/// What `src/models/gguf/cpu.rs` includes.
fn source(base: &str, built: &[(&str, &[&str])], failed: &[String]) -> String {
    let (mut functions, mut builds) = (String::new(), String::new());
    for (name, needs) in built {
        let entry = entry(name);
        functions += &format!("    fn {entry}() -> llama::ggml_backend_reg_t;\n");
        builds += &format!("    CpuBuild {{ name: {name:?}, needs: &{needs:?}, entry: {entry} }},\n");
    }
    format!(
        "const BASE: &str = {base:?};\nunsafe extern \"C\" {{\n{functions}}}\nstatic BUILDS: &[CpuBuild] = &[\n{builds}];\n\
         #[cfg(test)]\nstatic FAILED: &[&str] = &{failed:?};\n"
    )
}

/// One file of llama.cpp, as its own build compiled it.
struct Compilation {
    command: String,
    object: String,
}

/// Compiles a variant, and makes a static library of it.
fn build(name: &str, needs: &[&str], llama: &Path, out: &Path) -> Result<()> {
    let commands = llama.join("../../build/compile_commands.json");
    println!("cargo::rerun-if-changed={}", commands.display());
    let compilations = compilations(&commands)?;
    // What GCC marks as one for the whole process cannot be made local; clang knows neither that nor the flag.
    let compiler = compilations[0].command.split(' ').next().unwrap_or("cc");
    let no_unique = "-fno-gnu-unique";
    let no_unique = if run(compiler, [no_unique, "-E", "/dev/null"]).is_ok() { no_unique } else { "" };
    let flags = needs.iter().map(|need| format!(" -m{need}")).collect::<String>();
    let (folder, mut jobs) = (out.join(name), Vec::new());
    for Compilation { command, object } in &compilations {
        let object = folder.join(object);
        fs::create_dir_all(object.parent().unwrap_or(&folder)).map_err(|error| error.to_string())?;
        jobs.push(format!("{command} {no_unique}{flags}"));
    }
    // All their paths are absolute but that of the object.
    in_parallel(&folder, jobs)?;
    join(name, compilations.iter().map(|compilation| folder.join(&compilation.object)), &folder, out)?;
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

fn compilations(file: &Path) -> Result<Vec<Compilation>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let all: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let of_cpu = all.as_array().into_iter().flatten().filter_map(|entry| {
        let command = entry["command"].as_str()?;
        let object = command.split(" -o ").nth(1)?.split(' ').next()?;
        object.contains("ggml-cpu.dir/").then(|| Compilation { command: command.to_owned(), object: object.to_owned() })
    });
    let of_cpu: Vec<_> = of_cpu.collect();
    if of_cpu.is_empty() { Err(format!("{} names no file of ggml-cpu", file.display())) } else { Ok(of_cpu) }
}

/// Runs commands of a shell in a folder, as many at once as cargo allows.
fn in_parallel(folder: &Path, jobs: Vec<String>) -> Result<()> {
    let at_once = env::var("NUM_JOBS").ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    let jobs = Mutex::new(jobs.into_iter());
    let work = || {
        while let Some(job) = { jobs.lock().expect("no thread panics with it").next() } {
            succeeded("sh", Command::new("sh").arg("-c").arg(&job).current_dir(folder).output())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })
}

/// Makes one static library of a variant's objects, with one symbol that is seen from outside.
fn join(name: &str, objects: impl Iterator<Item = PathBuf>, folder: &Path, out: &Path) -> Result<()> {
    let entry = entry(name);
    let (joined, object) = (folder.join("joined.o"), folder.join(format!("{entry}.o")));
    let ld = ["-r", "--force-group-allocation", "-o"].map(PathBuf::from);
    run("ld", ld.into_iter().chain([joined.clone()]).chain(objects))?;
    let rename = format!("ggml_backend_cpu_reg={entry}");
    run("objcopy", ["--redefine-sym".as_ref(), rename.as_ref(), joined.as_os_str()])?;
    let keep = format!("--keep-global-symbol={entry}");
    run("objcopy", [keep.as_ref(), joined.as_os_str(), object.as_os_str()])?;
    let global = run("nm", ["--defined-only".as_ref(), "--extern-only".as_ref(), object.as_os_str()])?;
    let seen: Vec<_> = global.lines().filter_map(|line| line.split(' ').next_back()).collect();
    if seen != [&entry] {
        return Err(format!("more than its entry would be seen: {}", seen.join(" ")));
    }
    let sections = run("readelf", ["--sections".as_ref(), "--wide".as_ref(), object.as_os_str()])?;
    if let Some(found) = [".init_array", ".ctors", " GROUP "].iter().find(|found| sections.contains(**found)) {
        return Err(format!("it has sections that count for the whole program: {}", found.trim()));
    }
    let library = out.join(format!("lib{entry}.a"));
    let _ = fs::remove_file(&library);
    run("ar", ["crs".as_ref(), library.as_os_str(), object.as_os_str()]).map(drop)
}

fn run(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
    succeeded(program, Command::new(program).args(arguments).output())
}

/// Returns what a program printed.
fn succeeded(program: &str, ended: io::Result<Output>) -> Result<String> {
    let output = ended.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{program}: {}",
        said.lines().find(|line| line.contains("error")).or(said.lines().next()).unwrap_or("it failed")
    ))
}

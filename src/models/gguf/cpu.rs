//! Which of the processor's instructions llama.cpp computes with.
//!
//! llama.cpp's part for the CPU is in the program several times (`build.rs`): *base*, for any processor with AVX2, and builds for those
//! that can do more. The best that this processor can run is put in the place of *base* before llama.cpp is asked for anything, as it
//! would put one there that it found in a shared library. A program that was built for one processor alone (`make build`) has that
//! one, *native*, and so have other systems than Linux on x86-64.
//!
//! Tokens a second of processor time, 64 tokens a text, on an AMD Zen 4 with much other work, one run each, in turns
//! (`VAULT_CPU=… cargo bench --bench embedding -- --tokens 64`): *base* 2,460, *avx512* 3,020, *avx512bf16* 3,970, *native* 3,990.
//!
//! `VAULT_CPU` names another, for tests and to find out whether one is at fault.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::{env, mem};

use llama_cpp_sys_2 as llama;

/// llama.cpp's part for the CPU, compiled for what some processors can do.
struct CpuBuild {
    name: &'static str,
    /// What it needs beyond *base*.
    needs: &'static [&'static str],
    entry: unsafe extern "C" fn() -> llama::ggml_backend_reg_t,
}

// `BASE` and `BUILDS`, slowest first.
include!(concat!(env!("OUT_DIR"), "/cpu_builds.rs"));

/// Has llama.cpp compute with the best build for this processor, once a process, and names it.
pub(super) fn choose() -> &'static str {
    static CHOSEN: OnceLock<&str> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let asked = env::var("VAULT_CPU").ok().filter(|asked| !asked.is_empty());
        let best = choice(BUILDS, asked.as_deref(), has);
        let name = best.map_or(BASE, |build| build.name);
        if let Some(asked) = asked.filter(|asked| asked != name) {
            tracing::warn!("VAULT_CPU={asked} is not in this program, or this processor cannot run it: {name} is used");
        }
        if let Some(build) = best {
            put_in_place(build);
        }
        name
    })
}

/// The last build that the processor can run, or the one that is asked for; `None` is what llama.cpp takes by itself.
fn choice<'a>(builds: &'a [CpuBuild], asked: Option<&str>, has: impl Fn(&str) -> bool) -> Option<&'a CpuBuild> {
    let mut able = builds.iter().filter(|build| build.needs.iter().all(|need| has(need)));
    match asked {
        Some(BASE) => None,
        Some(asked) => able.clone().find(|build| build.name == asked).or_else(|| able.next_back()),
        None => able.next_back(),
    }
}

/// Whether the processor and the system have something that a build needs. What is not known here is not there.
#[cfg(target_arch = "x86_64")]
fn has(need: &str) -> bool {
    match need {
        "avxvnni" => is_x86_feature_detected!("avxvnni"),
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512cd" => is_x86_feature_detected!("avx512cd"),
        "avx512bw" => is_x86_feature_detected!("avx512bw"),
        "avx512dq" => is_x86_feature_detected!("avx512dq"),
        "avx512vl" => is_x86_feature_detected!("avx512vl"),
        "avx512vnni" => is_x86_feature_detected!("avx512vnni"),
        "avx512bf16" => is_x86_feature_detected!("avx512bf16"),
        _ => false,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> bool {
    false
}

fn put_in_place(build: &CpuBuild) {
    // SAFETY: the processor can run the build. llama.cpp keeps its list of these for the whole process and looks into it when it loads
    // a model or makes a context; none is before `choose` has ended, which everything here that does so calls first.
    unsafe {
        let base = registered();
        llama::ggml_backend_register((build.entry)());
        llama::ggml_backend_unload(base);
    }
}

/// What llama.cpp computes with on the CPU.
unsafe fn registered() -> llama::ggml_backend_reg_t {
    // SAFETY: a name that ends with its zero; llama.cpp fills its list when it is first asked.
    unsafe { llama::ggml_backend_reg_by_name(c"CPU".as_ptr()) }
}

/// Whether what llama.cpp computes with was compiled for something, such as `AVX512_BF16`.
pub(super) fn computes_with(feature: &str) -> bool {
    choose();
    // SAFETY: llama.cpp answers this name with a function of this type, whose list ends with a null name, and which it keeps.
    unsafe {
        let cpu = registered();
        let function = llama::ggml_backend_reg_get_proc_address(cpu, c"ggml_backend_get_features".as_ptr());
        let Some(features) = mem::transmute::<*mut std::ffi::c_void, llama::ggml_backend_get_features_t>(function)
        else {
            return false;
        };
        let mut at = features(cpu);
        while !at.is_null() && !(*at).name.is_null() {
            if text((*at).name) == Some(feature) {
                return true;
            }
            at = at.add(1);
        }
        false
    }
}

unsafe fn text<'a>(chars: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller has a text of llama.cpp's that ends with its zero.
    unsafe { CStr::from_ptr(chars) }.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn nothing() -> llama::ggml_backend_reg_t {
        std::ptr::null_mut()
    }

    const fn build(name: &'static str, needs: &'static [&'static str]) -> CpuBuild {
        CpuBuild { name, needs, entry: nothing }
    }

    static THREE: [CpuBuild; 3] =
        [build("little", &["a"]), build("more", &["b", "c"]), build("most", &["b", "c", "d"])];

    fn chosen(asked: Option<&str>, has: &[&str]) -> Option<&'static str> {
        choice(&THREE, asked, |need| has.contains(&need)).map(|build| build.name)
    }

    #[test]
    fn the_fastest_build_is_taken_of_which_the_processor_has_everything() {
        for (has, best) in [
            (&[] as &[&str], None),
            (&["a"], Some("little")),
            (&["b"], None),
            (&["a", "b"], Some("little")),
            (&["b", "c"], Some("more")),
            (&["a", "b", "d"], Some("little")),
            (&["a", "b", "c", "d"], Some("most")),
        ] {
            assert_eq!(chosen(None, has), best, "{has:?}");
        }
    }

    #[test]
    fn one_that_is_asked_for_is_taken_only_where_it_runs() {
        let all = ["a", "b", "c", "d"];
        assert_eq!(chosen(Some("more"), &all), Some("more"));
        assert_eq!(chosen(Some(BASE), &all), None);
        assert_eq!(chosen(Some("most"), &["a"]), Some("little"), "it would end the program");
        assert_eq!(chosen(Some("of a later version"), &all), Some("most"));
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn what_the_processor_has_is_what_the_kernel_says() {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap().replace('_', "");
        for need in BUILDS.iter().flat_map(|build| build.needs).chain(&["avxvnni", "avx512vnni", "avx512bf16"]) {
            assert_eq!(has(need), cpu.split_whitespace().any(|flag| flag == *need), "{need}");
        }
        assert!(!has("avx1024"));
    }

    #[test]
    fn no_build_was_left_out() {
        assert_eq!(FAILED, [""; 0]);
    }

    /// The test that is run again with each build, in a process of its own: llama.cpp has one at a time.
    const REFERENCE: &str = "models::gguf::tests::embeddings::embeddings_are_those_of_the_reference_implementation";

    /// Holds what a build computes against the reference, and returns it.
    #[cfg(feature = "bundled-model")]
    fn embeddings_by(build: &str) -> Vec<Vec<f32>> {
        let mut run = std::process::Command::new(env::current_exe().unwrap());
        let output = run.args(["--exact", REFERENCE, "--nocapture"]).env("VAULT_CPU", build).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{build}: {said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains(&format!("computed with {build}\n")), "{build}: {said}");
        let vectors = said.lines().filter_map(|line| line.strip_prefix("vector "));
        vectors.map(|vector| serde_json::from_str(vector).unwrap()).collect()
    }

    #[test]
    #[cfg(feature = "bundled-model")]
    fn each_build_that_runs_here_embeds_as_the_base_does() {
        let base = embeddings_by(BASE);
        assert!(base.len() >= 18, "{}", base.len());
        for build in BUILDS.iter().filter(|build| build.needs.iter().all(|need| has(need))) {
            let cosines: Vec<f32> = std::iter::zip(&base, embeddings_by(build.name))
                .map(|(a, b)| std::iter::zip(a, b).map(|(a, b)| a * b).sum())
                .collect();
            let least = cosines.iter().copied().fold(1.0, f32::min);
            println!("{}: cosines of {least:.6} and more to those of the base", build.name);
            assert_eq!(cosines.len(), base.len());
            // What computes with the same matrices rounds otherwise; those of bfloat16 are others.
            let bound = if build.needs.contains(&"avx512bf16") { 0.998 } else { 0.9995 };
            assert!(least > bound, "{}: {least}", build.name);
        }
    }
}

//! Checks for constructs that the PTX of a kernel must or must not contain.

use anyhow::{Result, ensure};

use super::text::{Item, ItemKind, Ptx, declared_size};

/// State spaces that memory accesses may use. Local memory means a spilled array, and generic
/// addresses cost an address check per access, so neither is allowed.
const SPACES: [&str; 4] = ["param", "global", "shared", "const"];

/// Bytes of each fixed-size shared array that a kernel declares or refers to.
///
/// # Errors
///
/// If a declaration cannot be parsed.
pub fn static_shared(ptx: &Ptx<'_>, kernel: &Item<'_>) -> Result<Vec<usize>> {
    let symbols = kernel.symbols();
    let mentioned = ptx.items.iter().filter(|item| {
        item.kind == ItemKind::Variable
            && !item.text.starts_with(".extern")
            && symbols.iter().any(|symbol| symbol == item.name)
    });
    let declarations = mentioned.map(|item| item.text.to_owned()).chain(kernel.statements());
    declarations.filter(|text| declares_shared(text)).map(|text| declared_size(&text)).collect()
}

fn declares_shared(declaration: &str) -> bool {
    let mut directives = declaration.split_whitespace().take_while(|word| word.starts_with('.'));
    directives.any(|word| word == ".shared")
}

/// All disallowed constructs in a module: local memory, generic addresses, and calls. Empty if
/// there are none.
pub fn findings(ptx: &Ptx<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for item in &ptx.items {
        if matches!(item.kind, ItemKind::Function | ItemKind::Prototype) {
            findings.push(format!("`{}` is a function: not everything was inlined", item.name));
        }
        for statement in item.statements() {
            if let Some(reason) = finding(&statement) {
                findings.push(format!("`{}`: {reason}: `{statement}`", item.name));
            }
        }
    }
    findings
}

fn finding(statement: &str) -> Option<&'static str> {
    let opcode = statement.split_whitespace().next()?;
    let mut parts = opcode.split(['.', ':']);
    match parts.next()? {
        "call" => Some("a call"),
        "" if opcode == ".local" => Some("local memory"),
        "ld" | "st" | "ldu" | "atom" | "red" if !parts.any(|part| SPACES.contains(&part)) => {
            Some("local memory or a generic address")
        }
        _ => None,
    }
}

/// The number of block-wide barriers in a kernel.
///
/// # Errors
///
/// If the module has no such kernel.
pub fn barriers(ptx: &Ptx<'_>, kernel: &str) -> Result<usize> {
    let item = ptx.entries().find(|item| item.name == kernel);
    ensure!(item.is_some(), "no kernel `{kernel}`");
    let statements = item.map(Item::statements).unwrap_or_default();
    let is_barrier = |statement: &&String| {
        let kinds = ["bar.sync", "bar.red", "bar.arrive", "barrier.sync", "barrier.red", "barrier.cta"];
        kinds.iter().any(|kind| statement.starts_with(kind))
    };
    Ok(statements.iter().filter(is_barrier).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ptx(body: &str) -> String {
        format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n\
             .extern .shared .align 16 .b8 launch_sized[];\n\
             .shared .align 16 .b8 fixed[256];\n\
             .visible .entry f(.param .u64 x) {{ {body} ret; }}"
        )
    }

    #[test]
    fn planted_defects_are_found() {
        for (defect, reason) in [
            (".local .align 4 .b8 __local_depot0[16];", "local memory"),
            ("ld.local.b32 %r1, [%rd1];", "local memory"),
            ("st.b32 [%rd1], %r1;", "generic address"),
            ("@%p1 ld.v2.b32 {%r1, %r2}, [%rd1];", "generic address"),
            ("atom.add.u32 %r1, [%rd1], 1;", "generic address"),
            ("{ call.uni f, (); }", "a call"),
        ] {
            let text = ptx(defect);
            let findings = findings(&Ptx::parse(&text).unwrap());
            assert_eq!(findings.len(), 1, "{defect}: {findings:?}");
            assert!(findings[0].contains(reason), "{defect}: {findings:?}");
        }
    }

    #[test]
    fn accesses_that_name_their_space_pass() {
        let text =
            ptx("ld.param.b64 %rd1, [x]; ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; \
             st.shared.b32 [%r1], %r2; ld.volatile.shared::cta.u32 %r1, [%r2]; \
             red.relaxed.gpu.global.add.u32 [%rd1], 1; ld.const.b32 %r1, [c];");
        assert_eq!(findings(&Ptx::parse(&text).unwrap()), [""; 0]);
    }

    #[test]
    fn barriers_of_the_block_are_counted() {
        let text = ptx(
            "bar.sync 0; bar.warp.sync 15; L: barrier.sync.aligned 0; @%p1 bar.red.popc.u32 %r1, 0, %p2;",
        );
        let ptx = Ptx::parse(&text).unwrap();
        assert_eq!(barriers(&ptx, "f").unwrap(), 3);
        assert!(barriers(&ptx, "g").is_err());
    }

    #[test]
    fn shared_memory_is_counted() {
        for (body, expected) in [
            ("", &[][..]),
            ("mov.u32 %r1, launch_sized;", &[]),
            ("mov.u32 %r1, fixed;", &[256]),
            ("{ .shared .align 16 .b8 arena[64]; } { .shared .align 16 .b8 arena[64]; }", &[64, 64]),
        ] {
            let text = ptx(body);
            let ptx = Ptx::parse(&text).unwrap();
            let kernel = ptx.entries().next().unwrap();
            assert_eq!(static_shared(&ptx, kernel).unwrap(), expected, "{body}");
        }
    }
}

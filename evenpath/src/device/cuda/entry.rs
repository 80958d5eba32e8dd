//! Compares kernel entries declared by PTX text with the arguments that the host passes.
//!
//! The driver copies as many bytes of arguments as the entry declares, from the host's pointers: if an entry
//! declares larger parameters than the kernel table, the driver would read past them.

use std::fmt;

use evenpath_simt::kernel::KernelInfo;

/// Properties of an entry that a launch depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PtxEntry {
    /// Bytes of each parameter; `None` if its type is not a PTX scalar.
    parameters: Vec<Option<usize>>,
    /// Threads per block, by `.maxntid` or `.reqntid`, if stated.
    block_size: Option<u32>,
    /// Bytes of shared memory that the body declares, if any.
    shared_bytes: Option<usize>,
}

/// The first kernel whose declaration in a module differs from the kernel table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) kernel: &'static str,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Compares the entries of a PTX text with the kernels of the same names. Missing kernels and unterminated
/// entries are left to the driver.
pub(super) fn compare(text: &str, kernels: &[&'static KernelInfo]) -> Result<(), Mismatch> {
    let text = without_comments(text);
    for after in text.split(".entry").skip(1) {
        let after = after.trim_start();
        let name_end =
            after.find(|c: char| c.is_whitespace() || matches!(c, '(' | '{')).unwrap_or(after.len());
        let (name, declaration) = after.split_at(name_end);
        let kernel = kernels.iter().find(|kernel| kernel.name == name);
        let (Some(kernel), Some(found)) = (kernel, PtxEntry::parse(declaration)) else { continue };
        let expected = PtxEntry::of(kernel, &found);
        if found != expected {
            let (expected, found) = (expected.to_string(), found.to_string());
            return Err(Mismatch { kernel: kernel.name, expected, found });
        }
    }
    Ok(())
}

impl PtxEntry {
    /// Returns the table's properties of a kernel, limited to those that `stated` has.
    fn of(kernel: &KernelInfo, stated: &Self) -> Self {
        Self {
            parameters: kernel.parameters.iter().map(|(_, kind)| Some(kind.size())).collect(),
            block_size: stated.block_size.map(|_| kernel.block_size),
            shared_bytes: stated.shared_bytes.map(|_| kernel.shared_bytes as usize),
        }
    }

    /// Parses an entry from the text after its name.
    fn parse(declaration: &str) -> Option<Self> {
        let (declaration, body) = declaration.split_once('{')?;
        let (parameters, directives) = match declaration.trim_start().strip_prefix('(') {
            Some(list) => list.split_once(')')?,
            None => ("", declaration),
        };
        let parameters = parameters.split(',').filter(|parameter| !parameter.trim().is_empty());
        let shared: Vec<usize> = body.split(';').filter_map(shared_declaration).collect();
        Some(Self {
            parameters: parameters.map(declared_bytes).collect(),
            block_size: threads(directives),
            shared_bytes: if shared.is_empty() { None } else { Some(shared.iter().sum()) },
        })
    }
}

impl fmt::Display for PtxEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes =
            self.parameters.iter().map(|bytes| bytes.map_or("?".to_owned(), |bytes| bytes.to_string()));
        let sizes: Vec<String> = sizes.collect();
        write!(f, "{} parameters of [{}] bytes", sizes.len(), sizes.join(", "))?;
        if let Some(threads) = self.block_size {
            write!(f, ", {threads} threads a block")?;
        }
        self.shared_bytes.map_or(Ok(()), |bytes| write!(f, ", {bytes} bytes of shared memory"))
    }
}

/// Parses the number of threads of a directive such as `.maxntid 128, 1, 1`.
fn threads(directives: &str) -> Option<u32> {
    let after = [".maxntid", ".reqntid"].iter().find_map(|directive| directives.split_once(directive))?.1;
    let mut dimensions = after.split('.').next()?.split(',').map(|number| number.trim().parse::<u32>().ok());
    dimensions.try_fold(1_u32, |product, number| product.checked_mul(number?))
}

/// Bytes of a shared-memory declaration such as `{ .shared .align 16 .b8 arena[64]`; `None` for other
/// statements.
fn shared_declaration(statement: &str) -> Option<usize> {
    let statement = statement.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '}'));
    if statement.split_whitespace().next() == Some(".shared") { declared_bytes(statement) } else { None }
}

/// Bytes of a declaration such as `.param .u64 .ptr .align 4 x` or `.param .align 8 .b8 pair[16]`.
fn declared_bytes(declaration: &str) -> Option<usize> {
    let element: usize = declaration.split_whitespace().find_map(|word| match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        _ => None,
    })?;
    let length = declaration
        .split_once('[')
        .map_or(Some(1), |(_, length)| length.split(']').next()?.trim().parse::<usize>().ok())?;
    element.checked_mul(length)
}

/// Replaces comments with spaces. Text in a string that looks like a comment is replaced too; no entry
/// contains any.
fn without_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('/') {
        let comment = &rest[start..];
        let end = match comment.as_bytes().get(1) {
            Some(b'/') => comment.find('\n').unwrap_or(comment.len()),
            Some(b'*') => comment[2..].find("*/").map_or(comment.len(), |end| end + 4),
            _ => 1,
        };
        result.push_str(&rest[..start]);
        result.push(' ');
        rest = &comment[end..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenpath_kernels::testing::{ConditionalBarrier, FaultOutOfBounds};
    use evenpath_simt::kernel::Kernel;

    const TEXT: &str = r"
// .entry testing_fault_out_of_bounds(.param .u8 in_a_comment) {
.version 7.8
.extern .shared .align 16 .b8 dynamic_shared[];
.visible .entry testing_fault_out_of_bounds(
	.param .u64 .ptr .align 4 data, /* , .param .u64 extra */
	.param .u64 index // : ) {
)
.maxntid 32, 1, 1
.minnctapersm 2
{
	st.shared.u32 [%r7], %r8;
	ret;
}
.entry testing_conditional_barrier (.param .u64 a, .param .b32 b) .reqntid 128
{
	{ .shared .align 16 .b8 arena[512]; mov.u32 %r4, arena; }
	ret;
}
";

    fn kernels() -> [&'static KernelInfo; 2] {
        [FaultOutOfBounds::INSTANCES[0], ConditionalBarrier::INSTANCES[0]]
    }

    #[test]
    fn entries_of_the_table_pass() {
        assert_eq!(compare(TEXT, &kernels()), Ok(()));
        assert_eq!(compare("", &kernels()), Ok(()), "nothing to compare");
        let unstated = TEXT.replace(".maxntid 32, 1, 1", "").replace(".shared .align 16 .b8 arena[512];", "");
        assert_eq!(compare(&unstated, &kernels()), Ok(()), "what is not stated is not compared");
    }

    #[test]
    fn mismatched_entries_are_reported() {
        let store = "2 parameters of [8, 8] bytes, 32 threads a block";
        let rotate = "2 parameters of [8, 4] bytes, 128 threads a block, 512 bytes of shared memory";
        for (from, to, expected, found) in [
            (
                ".param .u64 index",
                ".param .u32 index",
                store,
                "2 parameters of [8, 4] bytes, 32 threads a block",
            ),
            (
                "extra */",
                "*/ .param .f16 more,",
                store,
                "3 parameters of [8, 2, 8] bytes, 32 threads a block",
            ),
            (
                ".u64 index",
                ".align 8 .b8 index[16]",
                store,
                "2 parameters of [8, 16] bytes, 32 threads a block",
            ),
            (".u64 index", ".texref index", store, "2 parameters of [8, ?] bytes, 32 threads a block"),
            (".maxntid 32", ".maxntid 64", store, "2 parameters of [8, 8] bytes, 64 threads a block"),
            (".maxntid 32, 1", ".maxntid 32, 2", store, "2 parameters of [8, 8] bytes, 64 threads a block"),
            (
                ".reqntid 128",
                ".reqntid 96",
                rotate,
                "2 parameters of [8, 4] bytes, 96 threads a block, 512 bytes of shared memory",
            ),
            (
                "arena[512];",
                "arena[512]; .shared .b32 more[2];",
                rotate,
                "2 parameters of [8, 4] bytes, 128 threads a block, 520 bytes of shared memory",
            ),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT, "{from}");
            let mismatch = compare(&text, &kernels()).expect_err(to);
            assert_eq!((mismatch.expected.as_str(), mismatch.found.as_str()), (expected, found), "{to}");
        }
        let none =
            compare(".entry testing_fault_out_of_bounds { ret; }", &kernels()).expect_err("no parameters");
        assert_eq!(none.kernel, "testing_fault_out_of_bounds");
        assert_eq!(none.found, "0 parameters of [] bytes");
    }

    #[test]
    fn unterminated_entries_are_left_to_the_driver() {
        for text in [
            ".entry",
            ".entry testing_fault_out_of_bounds",
            ".entry testing_fault_out_of_bounds(.param",
            "/*",
            "/",
        ] {
            assert_eq!(compare(text, &kernels()), Ok(()), "{text}");
        }
    }
}

//! FfmFunctions.java: the Foreign Function and Memory API of JDK 22, behind the interface `Functions`.

use super::{exported, java_type, names, parameters, preamble};
use crate::model::{Function, Model, Type};
use std::fmt::Write;

pub fn emit(model: &Model) -> String {
    let mut text = preamble();
    text.push_str(
        "import java.lang.foreign.FunctionDescriptor;\nimport java.lang.foreign.Linker;\n\
         import java.lang.foreign.MemoryLayout;\nimport java.lang.foreign.MemorySegment;\n\
         import java.lang.foreign.ValueLayout;\nimport java.lang.invoke.MethodHandle;\n\n\
         /** The functions over the Foreign Function and Memory API, which needs JDK 22 or newer. */\n\
         final class FfmFunctions implements Functions {\n    \
         private static final MemoryLayout BYTE = ValueLayout.JAVA_BYTE;\n    \
         private static final MemoryLayout SHORT = ValueLayout.JAVA_SHORT;\n    \
         private static final MemoryLayout INT = ValueLayout.JAVA_INT;\n    \
         private static final MemoryLayout LONG = ValueLayout.JAVA_LONG;\n",
    );
    text.push_str(BIND);
    for function in exported(model) {
        text.push_str(&method(function));
    }
    text.push_str("}\n");
    text
}

const BIND: &str = r#"
    @SuppressWarnings("restricted")
    private static MethodHandle bind(String name, FunctionDescriptor shape) {
        return Linker.nativeLinker().downcallHandle(MemorySegment.ofAddress(Kabi.address(name)), shape);
    }

    /** Functions of C throw nothing: only the machine itself fails. */
    private static Error unexpected(Throwable thrown) {
        return thrown instanceof Error error ? error : new AssertionError(thrown);
    }
"#;

/// The handle is a constant, which is what lets the compiler of the JVM call straight through it.
fn method(function: &Function) -> String {
    let returns = java_type(&function.returns);
    let mut layouts: Vec<String> = function
        .arguments
        .iter()
        .map(|argument| java_type(&argument.ty).to_uppercase())
        .collect();
    let void = function.returns == Type::Void;
    if !void {
        layouts.insert(0, returns.to_uppercase());
    }
    let shape = format!(
        "{}({})",
        if void { "ofVoid" } else { "of" },
        layouts.join(", ")
    );
    let give = if void {
        String::new()
    } else {
        format!("return ({returns}) ")
    };
    let name = &function.name;
    let constant = name.to_uppercase();
    let mut text = String::new();
    let _ = write!(
        text,
        "\n    private static final MethodHandle {constant} =\n            \
         bind(\"{name}\", FunctionDescriptor.{shape});\n\n    \
         @Override\n    public {returns} {name}({}) {{\n        try {{\n            \
         {give}{constant}.invokeExact({});\n        \
         }} catch (Throwable thrown) {{\n            throw unexpected(thrown);\n        }}\n    }}\n",
        parameters(&function.arguments),
        names(&function.arguments)
    );
    text
}

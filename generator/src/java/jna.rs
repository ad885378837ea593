//! JnaFunctions.java: JNA's direct mapping, behind the interface `Functions`.

use super::{exported, java_type, names, parameters, preamble};
use crate::model::{Model, Type};
use std::fmt::Write;

pub fn emit(model: &Model) -> String {
    let mut text = preamble();
    text.push_str(
        "import com.sun.jna.Native;\nimport com.sun.jna.NativeLibrary;\n\n\
         /** The functions over JNA's direct mapping: primitive arguments only, which is the fastest that it has. */\n\
         final class JnaFunctions implements Functions {\n    \
         JnaFunctions(NativeLibrary library) {\n        Native.register(Direct.class, library);\n    }\n\n    \
         /** Frees what the calls need: none may be under way, and none can be made after. */\n    \
         static void unregister() {\n        Native.unregister(Direct.class);\n    }\n",
    );
    for function in exported(model) {
        let returns = if function.returns == Type::Void {
            ""
        } else {
            "return "
        };
        let _ = write!(
            text,
            "\n    @Override\n    public {} {}({}) {{\n        {returns}Direct.{}({});\n    }}\n",
            java_type(&function.returns),
            function.name,
            parameters(&function.arguments),
            function.name,
            names(&function.arguments)
        );
    }
    text.push_str("\n    /** What JNA binds to the library. */\n    private static final class Direct {\n        private Direct() {}\n");
    for function in exported(model) {
        let _ = write!(
            text,
            "\n        static native {} {}({});\n",
            java_type(&function.returns),
            function.name,
            parameters(&function.arguments)
        );
    }
    text.push_str("    }\n}\n");
    text
}

//! The safe core. It knows nothing of C: no raw pointers are followed here and no function pointers are
//! called.


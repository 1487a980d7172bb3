//! What a checked decision is made of. Everything here has one way to be written in Rust.

/// All files, in an order in which each uses earlier ones only.
#[derive(Default)]
pub struct Model {
    pub modules: Vec<Module>,
}

pub struct Module {
    /// `Gate`
    pub name: String,
    pub file: String,
    pub head: String,
    pub types: Vec<TypeDef>,
    pub functions: Vec<Function>,
}

pub struct TypeDef {
    pub name: String,
    pub doc: String,
    pub shape: Shape,
}

pub enum Shape {
    /// Named fields, and the name of the constructor.
    Record {
        constructor: String,
        fields: Vec<Field>,
    },
    Enumeration(Vec<Variant>),
}

pub struct Field {
    pub name: String,
    pub doc: String,
    pub ty: Type,
}

pub struct Variant {
    pub name: String,
    pub doc: String,
    pub args: Vec<Type>,
}

pub struct Function {
    pub name: String,
    pub doc: String,
    pub params: Vec<(String, Type)>,
    pub result: Type,
    pub body: Expr,
    /// The type of the same file that it is a method of, or that it makes.
    pub owner: Option<String>,
    /// True for a function that calls nothing that is not `const` in Rust.
    pub is_const: bool,
}

impl Function {
    /// True if the first argument is `self`.
    pub fn is_method(&self, module: &str) -> bool {
        matches!((&self.owner, self.params.first()),
            (Some(owner), Some((_, Type::Named(place)))) if place.module == module && place.name == *owner)
    }
}

/// A type or function of some file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub module: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    U64,
    Bool,
    Option(Box<Type>),
    Pair(Box<Type>, Box<Type>),
    Named(Place),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    Var(String),
    Number(u64),
    /// `u64::MAX`
    Max,
    Bool(bool),
    /// A field of a record of this type.
    Field(Box<Expr>, Place, String),
    /// `.0` or `.1` of a pair.
    Half(Box<Expr>, u8),
    Record(Place, Vec<(String, Expr)>),
    Variant(Place, String, Vec<Expr>),
    Some(Box<Expr>),
    None,
    Pair(Box<Expr>, Box<Expr>),
    Op(Op, Box<Expr>, Box<Expr>),
    /// `x / 2`
    Halve(Box<Expr>),
    Not(Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Match(Box<Expr>, Vec<Arm>),
    Let(Pattern, Box<Expr>, Box<Expr>),
    Call(Place, Vec<Expr>),
}

/// Operations on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    SatAdd,
    SatSub,
    Min,
    Max,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// More than one where they share a body.
    pub patterns: Vec<Pattern>,
    pub body: Expr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    Any,
    Var(String),
    Number(u64),
    Some(Box<Pattern>),
    None,
    Pair(Box<Pattern>, Box<Pattern>),
    Variant(Place, String, Vec<Pattern>),
    /// The fields that are bound, of how many there are.
    Record(Place, Vec<(String, Pattern)>, usize),
}

impl Model {
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }

    pub fn function(&self, place: &Place) -> Option<&Function> {
        self.module(&place.module)?.functions.iter().find(|function| function.name == place.name)
    }
}

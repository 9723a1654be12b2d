/** The template does not parse. */
export class TemplateSyntaxError extends Error {}

/** The template fails on its variables, as Python's exceptions would tell. */
export class TemplateFailure extends Error {}

/** The template itself refuses its variables: raise_exception. */
export class TemplateRefusal extends Error {}

/** The template asks for more than its budget. */
export class LimitReached extends Error {}

/** The template does not parse. */
export class TemplateSyntaxError extends Error {}

/** The template fails on its variables, where Python raises an exception. */
export class TemplateFailure extends Error {}

/** The template refuses its variables: raise_exception. */
export class TemplateRefusal extends Error {}

/** The template exceeds its budget. */
export class LimitReached extends Error {}

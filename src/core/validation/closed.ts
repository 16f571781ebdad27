/** Options of the schema of an object that has only the properties which the schema names. */
export const closed = { additionalProperties: false } as const

/** To the nearest part: `parts` 10 leaves one decimal. Null stays null. */
export function rounded(value: number, parts: number): number
export function rounded(value: number | null, parts: number): number | null
export function rounded(value: number | null, parts: number): number | null {
  return value === null ? null : Math.round(value * parts) / parts
}

/** The greatest of those that are known; null: none is. */
export const greatest = (values: readonly (number | null)[]): number | null =>
  values.reduce((most, value) => (value === null ? most : Math.max(most ?? value, value)), null)

/** What lies between a limit for one and the limit for all. */
export const halfway = (one: number, all: number): number => (one + all) / 2

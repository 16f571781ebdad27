/** Text of a user for a message: quoted, on one line and short. */
export const quote = (given: string): string => JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given)

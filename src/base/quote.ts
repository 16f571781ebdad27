/** What somebody wrote, as a message shows it: quoted, on one line and short. */
export const quote = (given: string): string => JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given)

/** Whether an error of the operating system has one of these codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && codes.includes(String((error as NodeJS.ErrnoException).code))

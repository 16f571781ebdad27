/** What an error says. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What an error says to an operator: of a file or a directory that cannot be used, its path and why. */
export function operatorText(error: unknown): string {
  const { code = '', path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  return path !== undefined && FILE_PROBLEMS.has(code) ? `${path} ${fileProblem(error)}` : errorText(error)
}

/** Whether an error of the operating system has one of these codes, such as `ENOENT`. */
export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && codes.includes(String((error as NodeJS.ErrnoException).code))

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'is not in a directory'],
  ['EISDIR', 'is a directory'],
  ['EACCES', 'may not be used by this user'],
  ['EPERM', 'may not be used by this user'],
  ['EROFS', 'is on a disk that is read-only'],
  ['ENOSPC', 'is on a disk that is full'],
  ['EDQUOT', 'is on a disk that is full for this user'],
])

/** Why a file or a directory cannot be used, in words that follow its path. */
export function fileProblem(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return FILE_PROBLEMS.get(code) ?? `cannot be used: ${message}`
}

/** Why a new file was not written, in words. */
export function newFileProblem(error: unknown, path: string): string {
  if (hasCode(error, 'EEXIST')) return `${path} exists already, and is not overwritten`
  if (hasCode(error, 'ENOENT', 'ENOTDIR')) return `the directory of ${path} does not exist`
  return `${path} ${fileProblem(error)}`
}

/** The same error of the system, of this file: errors of writing name none, and those of a draft name the draft. */
export const ofFile = (error: unknown, path: string): unknown =>
  error instanceof Error && 'syscall' in error ? Object.assign(error, { path }) : error

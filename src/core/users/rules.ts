const PASSWORD_MIN = 10
export const PASSWORD_MAX = 256

const EMAIL_MAX = 254

/** Addresses are compared in lower case. */
export const emailOf = (text: string): string => text.trim().toLowerCase()

/** What is wrong with an address as `emailOf` gives it; null when nothing is. */
export function emailProblem(email: string): string | null {
  const isAddress = email.length <= EMAIL_MAX && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email)
  return isAddress ? null : 'must be an address like name@example.com'
}

/** What is wrong with a new password; null when nothing is. */
export function passwordProblem(password: string): string | null {
  const isLong = password.length >= PASSWORD_MIN && password.length <= PASSWORD_MAX
  return isLong ? null : `must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`
}

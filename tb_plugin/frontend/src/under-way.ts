// How many answers the page waits for: what can wait lets those come first.

let asked = 0;

/** Whether the page waits for an answer that changes what it shows. */
export const isUnderWay = (): boolean => asked > 0;

/** Count a request until it is answered. */
export async function counted<T>(answer: Promise<T>): Promise<T> {
  asked += 1;
  try {
    return await answer;
  } finally {
    asked -= 1;
  }
}

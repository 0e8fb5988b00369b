    -- Tokens beyond the mark are not given out before it is moved, and that is on the disk.
    fence_mark = CASE WHEN fence >= fence_mark OR pawli_first()
                      THEN max(fence, fence_mark) + 1000 * pawli_must_last()
                      ELSE fence_mark END,

-- Nobody is overtaken: there is one writer at a time.
SELECT :epoch, 1;

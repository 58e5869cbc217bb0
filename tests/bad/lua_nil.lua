return function(sample)
end
